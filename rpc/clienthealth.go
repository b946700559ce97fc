package rpc

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/envelope"
)

// checkHealth asks the endpoint for its health through c, at once and in each interval, until ctx ends.
func (e *endpoint) checkHealth(ctx context.Context, c *conn) {
	ticker := time.NewTicker(e.client.cfg.HealthInterval)
	defer ticker.Stop()
	for {
		err := e.askHealth(ctx, c)
		if errors.Is(err, &call.Status{Code: call.Unimplemented}) {
			e.setHealth(nil) // the server has no health service
			return
		}
		if ctx.Err() == nil && !c.closing() {
			e.setHealth(err)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// askHealth returns nil if the server is serving.
func (e *endpoint) askHealth(ctx context.Context, c *conn) error {
	content := healthContents([]envelope.Content{*e.client.content})[0]
	a := attempt{client: e.client, content: &content, traffic: new(traffic)}
	a.head = call.Head{Method: HealthCheck, Content: content.Type, Deadline: time.Now().Add(e.client.cfg.HealthInterval)}
	body, err := content.Codec.Marshal(&HealthRequest{})
	if err != nil {
		return statusf(call.Unimplemented, "health cannot be asked with the content type %s: %v", content.Type, err)
	}
	a.setBody(body)
	defer a.release()
	if err := a.send(ctx, c); err != nil {
		return err
	}
	var response HealthResponse
	if err := content.Codec.Unmarshal(a.result, &response); err != nil {
		return err
	}
	if response.Status != serving {
		return fmt.Errorf("%s reports %s", e.addr, response.Status)
	}
	return nil
}

// setHealth notes the result of a health check.
func (e *endpoint) setHealth(err error) {
	e.mu.Lock()
	changed := (err == nil) != (e.unhealthy == nil)
	e.unhealthy = err
	e.mu.Unlock()
	if changed {
		e.publish()
	}
}
