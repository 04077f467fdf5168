#!/bin/sh
# Copy the database into PREFJUDGE_BACKUPS every PREFJUDGE_BACKUP_HOURS hours (0: once), read each copy back, and delete
# those older than PREFJUDGE_BACKUP_DAYS days. Which database: PGHOST, PGPORT, PGUSER, PGDATABASE, as libpq reads them.
set -eu
umask 077
trap 'exit 0' TERM INT
cd "$PREFJUDGE_BACKUPS"
while :; do
    rm -f ./*.part # of one that was interrupted
    name=marketplace-$(date -u +%Y-%m-%dT%H%M%SZ).dump
    if pg_dump --format=custom --no-owner --file="$name.part" && pg_restore --list "$name.part" >/dev/null; then
        mv "$name.part" "$name"
        echo "$name: $(wc -c <"$name") bytes"
        # only after a good one: when backups fail, the old ones are all there is
        find . -name 'marketplace-*.dump' -mtime "+$PREFJUDGE_BACKUP_DAYS" -delete
    else
        rm -f "$name.part"
        echo "the backup failed" >&2
        [ "$PREFJUDGE_BACKUP_HOURS" -gt 0 ] || exit 1
    fi
    [ "$PREFJUDGE_BACKUP_HOURS" -gt 0 ] || exit 0
    sleep "$((PREFJUDGE_BACKUP_HOURS * 3600))" &
    wait $! # so that a signal is heard at once
done
