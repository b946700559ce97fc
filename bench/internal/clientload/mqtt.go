package clientload

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/eclipse/paho.golang/autopaho"
	"github.com/eclipse/paho.golang/paho"
	"github.com/eclipse/paho.golang/paho/session"
)

// MQTT are clients of paho.golang, which speak MQTT 5 and connect again by themselves. They publish with QoS 1, each on a topic of its own
// below Topics, and one more client has a session with QoS 1 that receives all of it. What is not acknowledged is sent again on the next
// connection, in the session.
type MQTT struct {
	Name   string
	Addr   string
	Topics string // plant: they are stored
}

// sessionExpiry is how long the broker keeps a session without a connection, in seconds.
const sessionExpiry = 600

// reconnectPause is the time between attempts to connect.
const reconnectPause = 50 * time.Millisecond

// Kind returns the Kind of a Load, and its subscriber, which is connected already.
func (q MQTT) Kind(ctx context.Context) (Kind, error) {
	m := newMessages(true)
	subscribed := make(chan error, 1)
	_, stop, err := q.connect(ctx, q.Topics+"-receiver", func(c *autopaho.ClientConfig) {
		c.OnPublishReceived = []func(paho.PublishReceived) (bool, error){func(p paho.PublishReceived) (bool, error) {
			m.arrive(string(p.Packet.Payload))
			return true, nil
		}}
		c.OnConnectionUp = func(manager *autopaho.ConnectionManager, connack *paho.Connack) {
			if connack.SessionPresent {
				return // with the subscription
			}
			go func() { // OnConnectionUp must not wait
				_, err := manager.Subscribe(context.WithoutCancel(ctx), &paho.Subscribe{Subscriptions: []paho.SubscribeOptions{{Topic: q.Topics + "/#", QoS: 1}}})
				select {
				case subscribed <- err:
				default:
				}
			}()
		}
	})
	if err == nil {
		select {
		case err = <-subscribed:
		case <-ctx.Done():
			err = ctx.Err()
		}
		if err != nil {
			stop()
		}
	}
	if err != nil {
		return Kind{}, fmt.Errorf("subscribing to %s/#: %w", q.Topics, err)
	}
	return Kind{Name: q.Name, Messages: m, Close: stop, Connect: func(ctx context.Context, client int) (Client, error) {
		topic := fmt.Sprint(q.Topics, "/", client)
		manager, stop, err := q.connect(ctx, fmt.Sprint(q.Topics, "-publisher-", client), nil)
		return &mqttClient{manager, stop, topic}, err
	}}, nil
}

// connect connects a client with a session. stop disconnects it.
func (q MQTT) connect(ctx context.Context, id string, change func(*autopaho.ClientConfig)) (*autopaho.ConnectionManager, func(), error) {
	cfg := autopaho.ClientConfig{
		ServerUrls: []*url.URL{{Scheme: "mqtt", Host: q.Addr}}, KeepAlive: 30, SessionExpiryInterval: sessionExpiry,
		CleanStartOnInitialConnection: true, ReconnectBackoff: autopaho.NewConstantBackoff(reconnectPause), ConnectTimeout: patience,
		ClientConfig: paho.ClientConfig{ClientID: id, PacketTimeout: patience},
	}
	if change != nil {
		change(&cfg)
	}
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	manager, err := autopaho.NewConnection(running, cfg)
	if err != nil {
		cancel()
		return nil, nil, err
	}
	stop := func() {
		cancel()
		<-manager.Done()
	}
	if err := manager.AwaitConnection(ctx); err != nil {
		stop()
		return nil, nil, err
	}
	return manager, stop, nil
}

type mqttClient struct {
	manager *autopaho.ConnectionManager
	stop    func()
	topic   string
}

func (c *mqttClient) Close() { c.stop() }

// Do publishes a message, and waits for its PUBACK. Without a connection the message is not in the session yet.
func (c *mqttClient) Do(ctx context.Context, id string) (again int, err error) {
	for {
		_, err := c.manager.Publish(ctx, &paho.Publish{QoS: 1, Topic: c.topic, Payload: []byte(id)})
		if !errors.Is(err, autopaho.ConnectionDownError) && !errors.Is(err, session.ErrNoConnection) {
			return 0, err
		}
		if err := c.manager.AwaitConnection(ctx); err != nil {
			return 0, err
		}
		wait(ctx, time.Millisecond) // AwaitConnection returns a moment before the session has the connection
	}
}
