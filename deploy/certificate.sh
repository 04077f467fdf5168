#!/bin/sh
# Make a self-signed certificate for a trial, unless there is one: browsers warn of it, and programs must be told to
# trust it. Takes the name of the site and the folder from the environment.
set -eu
umask 077
if [ -e "$PREFJUDGE_CERTIFICATES/fullchain.pem" ]; then
    exit 0
fi
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -noenc -days 90 \
    -subj "/CN=$PREFJUDGE_SITE" -addext "subjectAltName=DNS:$PREFJUDGE_SITE" \
    -keyout "$PREFJUDGE_CERTIFICATES/privkey.pem" -out "$PREFJUDGE_CERTIFICATES/fullchain.pem"
if [ -n "${PREFJUDGE_CERTIFICATE_OWNER:-}" ]; then # the web server is somebody else
    chown "$PREFJUDGE_CERTIFICATE_OWNER" "$PREFJUDGE_CERTIFICATES"/*.pem
fi
