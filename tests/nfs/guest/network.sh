#!/bin/bash
# An NFSv4.1 server here and CLIENTS clients, each in a network namespace of its own and with a
# hostname of its own: with the same hostname they would share one identity towards the server.
# The options of the mounts are those of EFS. LEASE_SECONDS is the server's.
set -euo pipefail
clients=$1
lease_seconds=$2

# EFS gives no delegations.
echo 0 >/proc/sys/fs/leases-enable
mkdir -p /srv/volume /run/rpc_pipefs /var/lib/nfs/nfsdcld /var/lib/nfs/rpc_pipefs
mount -t nfsd nfsd /proc/fs/nfsd
mount -t rpc_pipefs rpc /run/rpc_pipefs
mount --bind /run/rpc_pipefs /var/lib/nfs/rpc_pipefs
nfsdcld -p /run/rpc_pipefs
echo '/srv/volume *(rw,sync,no_subtree_check,no_root_squash,fsid=0,insecure)' >/etc/exports
rpc.mountd -N 3
exportfs -ra
rpc.nfsd --lease-time "$lease_seconds" --grace-time "$lease_seconds" -N 3 -V 4.1 -N 4.2 8

ip link add br0 type bridge
ip addr add 192.168.77.1/24 dev br0
ip link set br0 up
for number in $(seq 1 "$clients"); do
    ip netns add "client$number"
    ip link add "link$number" type veth peer name eth0 netns "client$number"
    ip link set "link$number" master br0 up
    ip -n "client$number" addr add "192.168.77.1$number/24" dev eth0
    ip -n "client$number" link set eth0 up
    mkdir -p "/mnt/client$number"
    unshare --uts sh -c "hostname client$number && exec nsenter --net=/run/netns/client$number \
        mount -t nfs4 -o nfsvers=4.1,rsize=1048576,wsize=1048576,hard,timeo=600,retrans=2,noresvport \
        192.168.77.1:/ /mnt/client$number"
done
