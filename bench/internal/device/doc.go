// Package device has devices that speak MQTT to a node of the shipped binary: honest ones, whose latency is measured, and hostile ones, in a process of their
// own. Linux only.
//
//	node, err := device.Start(dir, nil)
//	defer node.Stop()
//	clients, err := device.Dial(node.Addr, 50, device.Login{})
//	result, err := device.Publish(clients, 1000, 2*time.Second)
package device
