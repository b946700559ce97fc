// Package history checks what happened to the messages of a stream, for tests that end processes and break connections.
//
// A test records when it sends a message, when the message is stored, when a function handles it, and when something fails. Check
// then says which promises of an at-least-once stream were broken: a stored message that no function has handled, a message that
// was never sent, an order that changed, and a message that was handled twice without a failure that explains it.
//
//	var h history.History
//	h.Sent("orders/7", 1)
//	h.Stored("orders/7", 1)
//	h.Handled("orders/7", 1, "worker 1")
//	if report := h.Check(); !report.OK() { t.Error(report) }
package history
