#!/bin/sh
# Pin the images of compose.yaml by what their tags are today: asks the registry for their digests, and writes them to
# deploy/.env. Run it again to take newer ones.
set -eu
settings=$(dirname "$0")/.env
for pair in POSTGRES_IMAGE=postgres:17 NGINX_IMAGE=nginx:1.28 CADDY_IMAGE=caddy:2; do
    name=${pair%%=*} tag=${pair#*=}
    digest=$(docker buildx imagetools inspect "$tag" --format '{{.Manifest.Digest}}')
    case $digest in
        sha256:????????????????????????????????????????????????????????????????) ;;
        *) echo "$tag: the registry gave no digest: $digest" >&2; exit 1 ;;
    esac
    kept=$(grep -v "^$name=" "$settings" || true)
    printf '%s\n%s=%s@%s\n' "$kept" "$name" "$tag" "$digest" >"$settings.part"
    mv "$settings.part" "$settings"
    echo "$name=$tag@$digest"
done
