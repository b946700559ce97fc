#!/bin/sh
# Runs after the package is installed or upgraded. A new service is not started: systemctl enable --now ferry. One that runs is restarted. The package is
# installed also if the service does not come back: systemd and the journal know why.
set -e
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload || true
	systemctl try-restart ferry.service || echo "ferry: the service does not run: see systemctl status ferry, and journalctl -u ferry" >&2
fi
