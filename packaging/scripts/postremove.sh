#!/bin/sh
# Runs after the package is removed or upgraded. /var/lib/ferry stays: it has the node's keys and streams.
set -e
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
fi
