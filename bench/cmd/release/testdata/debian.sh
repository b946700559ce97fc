#!/bin/sh
# Installs a Debian package on a copy of this machine's root, in namespaces of its own, runs what it installed, and removes it.
#
#   unshare --mount --net --pid --fork sh debian.sh PACKAGE DIR
#
# The copy is an overlay on the empty directory DIR, so its upper layer shows all that has changed. The last lines of the output are the
# files that are left after the package was purged.
set -eu
package=$1
dir=$2
mount -t tmpfs ferry "$dir"
mkdir "$dir/upper" "$dir/work" "$dir/root"
mount -t overlay -o "lowerdir=/,upperdir=$dir/upper,workdir=$dir/work" overlay "$dir/root"
root=$dir/root
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmp "$root/tmp"
mount -t tmpfs local "$root/usr/local" # no Go
cp "$package" "$root/tmp/ferry.deb"
ip link set lo up

# What is left of an earlier test of this machine would hide a fault.
if test -e "$root/usr/bin/ferry"; then exit 1; fi

clean="env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root"
in_root() { chroot "$root" $clean "$@"; }

echo "== dpkg -i"
in_root dpkg -i /tmp/ferry.deb
echo "== version"
in_root ferry version
in_root ferry check -c /etc/ferry/node.yaml
echo "== unit"
in_root systemd-analyze verify /usr/lib/systemd/system/ferry.service /usr/lib/systemd/system/ferry.socket
in_root systemd-analyze security --offline=true --threshold=20 --no-pager /usr/lib/systemd/system/ferry.service | tail -1

echo "== run"
# What systemd makes of StateDirectory and DynamicUser. The command is the unit's.
install -d -m 750 -o nobody "$root/var/lib/ferry"
command=$(sed -n 's/^ExecStart=//p' "$root/usr/lib/systemd/system/ferry.service")
mkfifo "$root/tmp/output"
chroot "$root" $clean setpriv --reuid=nobody --clear-groups sh -c "cd /var/lib/ferry && exec $command" >"$root/tmp/output" &
ferry=$! # each program is replaced by the next one, so this is ferry
exec 3<"$root/tmp/output"
read -r line <&3 # once the node is ready
echo "$line"
echo '{"value":97}' | in_root sh -c 'cd /var/lib/ferry && ferry pub --ack factory/press/temp'
kill -TERM "$ferry"
wait "$ferry"
exec 3<&-

echo "== dpkg -r"
in_root dpkg -r ferry
test -e "$root/etc/ferry/node.yaml" # configuration stays until the package is purged
in_root dpkg -P ferry
echo "== left"
cd "$dir/upper"
find . ! -type d ! -path './run/*' ! -path './var/lib/dpkg/*' ! -path './var/cache/*' ! -path './var/log/*' | sed 's/^\.//' | sort
for d in ./etc/ferry ./usr/share/doc/ferry; do
	! test -d "$d" || echo "${d#.}/"
done
