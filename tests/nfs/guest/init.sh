#!/bin/bash
# The guest's first process: mounts what every Linux has and starts the agent, nothing of Debian's own.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /tmp
mount -o remount,rw /
modprobe -a virtio_net nfsd nfs nfsv4 veth bridge
hostname server
ip link set lo up
# What QEMU's own network gives to its first guest; only the host's loopback reaches it.
ip addr add 10.0.2.15/24 dev eth0
ip link set eth0 up
# The server's disk. NFS exports neither an overlay nor, without more ado, a tmpfs.
mkfs.ext4 -q -F /dev/vdb
mkdir -p /srv
mount -t ext4 /dev/vdb /srv
exec python3 /agent.py
