package config

import "time"

// Default returns the configuration of a node without a file: QUIC and TCP on loopback, and this machine's sensors as input.
func Default() *Config {
	c := defaults()
	c.Live.Sensors, c.Live.Functions = true, true
	return c
}

// defaults returns the values of fields that a file does not name.
func defaults() *Config {
	return &Config{
		Listeners: []Listener{
			{Address: "quic://127.0.0.1:4190", Validate: ValidateFull},
			{Address: "tcp://127.0.0.1:4190", Validate: ValidateFull},
		},
		Admin:   Admin{Address: "127.0.0.1:4195"},
		DataDir: "./ferry-data",
		Limits: Limits{
			MaxFrame:         1 << 20,
			MaxConnections:   1024,
			Window:           1 << 20,
			Queue:            1 << 20,
			MaxTags:          10_000,
			MaxSubscriptions: 256,
			MaxCalls:         4096,
			CallWindow:       16 << 20,
			CallStreamWindow: 256 << 10,
			CallQueue:        64 << 20,
			WasmMemory:       1 << 30,
			WasmTimeout:      time.Minute,
			HandshakeTimeout: 5 * time.Second,
			Heartbeat:        10 * time.Second,
			WriteTimeout:     30 * time.Second,
		},
		Drain: Drain{Timeout: 10 * time.Second},
		MQTT: MQTT{
			Sessions:      10_000,
			SessionExpiry: 24 * time.Hour,
			Retained:      10_000,
			RetainedSize:  16 << 20,
			IdentityShare: 75,
			Queue:         256 << 10,
			InFlight:      1024,
		},
		Deploy: Deploy{Functions: 16, Bytes: 256 << 20},
		Live:   Live{Interval: 100 * time.Millisecond},
		CPU:    CPU{KernelSlices: true, Queue: 1024},
		Log:    Log{Level: LevelInfo, Format: LogText},
	}
}

// complete sets the defaults in entries of lists.
func (c *Config) complete() {
	for i := range c.Listeners {
		if c.Listeners[i].Validate == "" {
			c.Listeners[i].Validate = ValidateFull
		}
	}
	c.completeStreams()
	for i := range c.Functions {
		c.Functions[i].Complete()
	}
	if c.Admin.Address == "off" {
		c.Admin.Address = ""
	}
}
