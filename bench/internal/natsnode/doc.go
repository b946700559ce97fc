// Package natsnode runs a NATS server in this process, as nats-server itself does without a configuration.
//
//	addr, err := natsnode.Start("127.0.0.1:0")
package natsnode
