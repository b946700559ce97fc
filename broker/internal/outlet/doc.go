// Package outlet is the way out of the broker: a Stream carries frames to one client, and a Queue has the messages of one tag that wait
// for one subscription. A message is written at once if its subscription has credit and the stream has room. Otherwise it waits in its
// Queue, and each Queue gets its turn of the writes that follow. A Queue that is full withholds the credit of those who fill it.
//
// The lock of a Stream guards its Queues. Package outlet knows no session, no route and no engine.
package outlet

// Files: the way out of the broker: stream.go is a stream to a client, whose turns its sources take, queue.go the messages
// of one tag for one subscription, run.go messages for a client in the process.
