#!/bin/sh
# Runs after the package is installed or upgraded. A new service is not started: systemctl enable --now ferry. One that runs is restarted.
set -e
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	systemctl try-restart ferry.service
fi
