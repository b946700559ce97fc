#!/bin/sh
# Runs before the package is removed or upgraded. dpkg gives a word, rpm the number of versions that stay.
set -e
case "$1" in
remove | 0)
	if [ -d /run/systemd/system ]; then
		systemctl disable --now ferry.socket ferry.service
	fi
	;;
esac
