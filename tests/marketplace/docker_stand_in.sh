#!/usr/bin/env bash
# Stands in for `docker compose -f deploy/compose.yaml` where there is no Docker: runs the same parts by hand. The
# database and nginx run already; a server is started and stopped here, and commands of a service run in its environment.
set -euo pipefail
[ "$1 $2 $3" = "compose -f deploy/compose.yaml" ] || { echo "not a command of the page: $*" >&2; exit 64; }
shift 3
set -a && . deploy/.env && set +a
if [ -n "${PREFJUDGE_ADMIN_TOKEN_SOURCE:-}" ]; then # mounted as PREFJUDGE_ADMIN_TOKEN_FILE
  export PREFJUDGE_ADMIN_TOKEN_FILE="deploy/$PREFJUDGE_ADMIN_TOKEN_SOURCE"
fi
verb=$1
shift

stop() { # SERVER
  [ -e "$1.pid" ] || return 0
  local pid
  pid=$(cat "$1.pid")
  kill "$pid"
  while [ -n "$(tr -d '\0' 2>/dev/null <"/proc/$pid/cmdline")" ]; do sleep 0.05; done # not so of a zombie
  rm "$1.pid"
}

start() { # SERVER PORT
  PREFJUDGE_PORT=$2 nohup prefjudge serve </dev/null >/dev/null 2>>"$1.log" &
  echo $! >"$1.pid"
  for _ in $(seq 1200); do
    ! curl --fail --silent --output /dev/null "http://127.0.0.1:$2/healthz" || return 0
    sleep 0.05
  done
  cat "$1.log" >&2
  return 1
}

case $verb in
  up) # as compose does, again with what has changed; one server is enough for the page
    stop server1
    start server1 "$TEST_PORT" ;;
  stop) for server in "$@"; do stop "$server"; done ;;
  logs) while [ $# -gt 0 ]; do
      case $1 in --no-log-prefix) ;; --since) shift ;; backup) ;; server2) ;; *) cat "$1.log" ;; esac
      shift
    done ;;
  exec)
    [ "$1" = -T ] && shift
    if [ "$1" = -e ]; then export "${2?}"; shift 2; fi
    shift # the service
    exec "${@//\/backup/$TEST_BACKUP}" ;;
  *) echo "not a command of the page: $verb" >&2; exit 64 ;;
esac
