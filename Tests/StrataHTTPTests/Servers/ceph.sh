#!/usr/bin/env bash
# Starts a Ceph cluster of one machine, in memory, with a gateway for S3, and ends it when its standard input ends.
#
#   ceph.sh PORT FOLDER PORT-OF-THE-MONITOR
set -euo pipefail

# All that is started is one group, which is ended as a whole, wherever it has got to.
if [[ "${4-}" != inside ]]; then
    setsid "$0" "$@" inside </dev/null &
    group=$!
    read -r _ || true
    kill -KILL -- "-$group"
    exit
fi

port="$1"
folder="$2/ceph"
monitor="[v1:127.0.0.1:$3]"
mkdir -p "$folder"/{mon,osd,mgr,rgw,run}
cluster="$(uuidgen)"
disk="$(uuidgen)"
export CEPH_CONF="$folder/ceph.conf"
cat >"$CEPH_CONF" <<END
[global]
fsid = $cluster
mon host = $monitor
auth cluster required = none
auth service required = none
auth client required = none
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 1
osd pool default pgp num = 1
mon allow pool size one = true
osd crush chooseleaf type = 0
public addr = 127.0.0.1
cluster addr = 127.0.0.1
run dir = $folder/run
pid file = $folder/run/\$type.\$id.pid
admin socket = $folder/run/\$name.asok
log file = $folder/\$name.log
osd objectstore = memstore
memstore device bytes = 2147483648
osd data = $folder/osd
mon data = $folder/mon
mgr data = $folder/mgr
ms bind msgr2 = false
[client.rgw]
rgw frontends = beast endpoint=127.0.0.1:$port
rgw data = $folder/rgw
END

start() { "$@" -f </dev/null & }
monmaptool --create --fsid "$cluster" --addv a "$monitor" "$folder/monmap"
ceph-mon --mkfs -i a --monmap "$folder/monmap"
start ceph-mon -i a
for _ in {1..100}; do
    if timeout 2 ceph -s >/dev/null 2>&1; then break; fi
    sleep 0.2
done
start ceph-mgr -i x
ceph osd new "$disk"
ceph-osd -i 0 --mkfs --osd-uuid "$disk"
start ceph-osd -i 0
# Made before the gateway runs, which is what the tests wait for.
timeout 60 radosgw-admin user create --uid=test --display-name=test --access-key=test --secret-key=test
start radosgw -n client.rgw
wait
