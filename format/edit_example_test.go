package format_test

import (
	"fmt"
	"io"
	"net"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/json"
)

// This example forwards an event with one changed name. On a TCP connection this is one system call, which reads the
// parts where they are. The event is not copied, whatever its size.
func ExampleEdit_Buffers() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer listener.Close()
	sent := make(chan error, 1)
	go func() {
		conn, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			sent <- err
			return
		}
		event := []byte(`{"deviceName":"pump-1","readings":[{"value":30}]}`)
		var e format.Edit
		err = json.Format{}.Replace(&e, event, field.MustParse("deviceName"), field.Value{Kind: field.Text, Bytes: []byte("north/pump-1")})
		if err == nil {
			parts := net.Buffers(e.Buffers(nil))
			_, err = parts.WriteTo(conn)
		}
		conn.Close()
		sent <- err
	}()
	conn, err := listener.Accept()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()
	received, err := io.ReadAll(conn)
	fmt.Printf("%s %v %v\n", received, err, <-sent)
	// Output: {"deviceName":"north/pump-1","readings":[{"value":30}]} <nil> <nil>
}

// A reused Edit allocates nothing. This example changes the message in place if the new value is as long as the old
// one.
func ExampleEdit_InPlace() {
	event := []byte(`{"deviceName":"pump-1","readings":[{"value":30}]}`)
	var e format.Edit
	for _, name := range []string{"pump-2", "pump-10"} {
		v := field.Value{Kind: field.Text, Bytes: []byte(name)}
		if err := (json.Format{}).Replace(&e, event, field.MustParse("deviceName"), v); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%v %s\n", e.InPlace(), event[:23])
	}
	// Output:
	// true {"deviceName":"pump-2",
	// false {"deviceName":"pump-2",
}
