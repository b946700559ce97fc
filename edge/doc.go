// Package edge is what the listeners of devices have in common, whatever their protocol.
//
//	newcomers := edge.NewNewcomers(most, 4<<20) // of one event loop
//	newcomers.Add(conn)                          // it is accepted
//	newcomers.Hold(conn, len(unread))            // a part of its first packet has arrived
//	newcomers.Remove(conn)                       // its client is identified, or it is closed
package edge
