package web_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"example.com/ferry/format"
	"example.com/ferry/format/json"
	"example.com/ferry/stream/hop"
	"example.com/ferry/stream/web"
)

// A server publishes what clients POST.
func Example() {
	b, err := hop.New(hop.Config{Identify: hop.Anyone, Formats: []format.Format{json.Format{}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := web.Listen(web.Config{Broker: b, Address: "127.0.0.1:0"})
	if err != nil {
		fmt.Println(err)
		return
	}
	res, err := http.Post("http://"+s.Addr().String()+"/v1/tags/plant/1", "application/json", strings.NewReader(`{"value":31}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = res.Body.Close()
	fmt.Println(res.Status)
	_ = s.Drain(context.Background())
	fmt.Println(b.Shutdown(context.Background()))
	// Output:
	// 204 No Content
	// <nil>
}
