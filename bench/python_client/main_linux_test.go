package main

import (
	"os"
	"testing"

	"example.com/ferry/bench/internal/harnesstest"
	"example.com/ferry/internal/needs"
)

func TestMain(m *testing.M) {
	serverMain()
	os.Exit(m.Run())
}

func TestQuestion(t *testing.T) {
	needs.Cores(t, 2) // one for the server and one for the client
	if _, versions := libraries(); versions == nil {
		needs.Missing(t, "nats-py and paho-mqtt for Python in bin/python, and mosquitto", "make deps")
	}
	harnesstest.Run(t, question())
}
