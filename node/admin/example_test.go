package admin_test

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"example.com/ferry/node/admin"
)

func Example() {
	s, err := admin.New(admin.Config{Address: "127.0.0.1:0"})
	if err != nil {
		fmt.Println(err)
		return
	}
	go s.Serve() // ends with Shutdown, below
	s.SetReady(true)

	response, err := http.Get("http://" + s.Addr().String() + "/ready")
	if err != nil {
		fmt.Println(err)
		return
	}
	body, _ := io.ReadAll(response.Body)
	response.Body.Close()
	fmt.Printf("%d %s", response.StatusCode, body)
	fmt.Println(s.Shutdown(context.Background()))
	// Output:
	// 200 ready
	// <nil>
}
