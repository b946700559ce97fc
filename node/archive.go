package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"example.com/ferry/edge/mqtt"
	"example.com/ferry/engine"
	"example.com/ferry/engine/archive"
	"example.com/ferry/node/admin"
	"example.com/ferry/node/backup"
	"example.com/ferry/node/config"
)

// archiver saves the streams of a node. It implements admin.Archiver.
type archiver struct {
	streams *storedStreams      // nil if the node stores none
	mqtt    func() *mqtt.Server // nil before there is an mqtt listener
}

var _ admin.Archiver = archiver{}

// Manifest lists the streams in the data directory, whether the configuration has them or not. Those of servers elsewhere belong
// to several nodes, and are saved there.
func (a archiver) Manifest(ctx context.Context) (backup.Manifest, error) {
	m := backup.Manifest{Made: time.Now().UTC().Truncate(time.Second)}
	if server := a.mqtt(); server != nil { // the files come behind the manifest
		if err := server.Save(); err != nil {
			return m, err
		}
	}
	if a.streams == nil {
		return m, nil
	}
	m.Engine, m.Address = a.streams.engine.Capabilities().Name, a.streams.address
	if !(config.Engine{Address: m.Address}).OnDisk() {
		return m, nil
	}
	all, err := a.streams.engine.List(ctx)
	for _, info := range all {
		m.Streams = append(m.Streams, info.Config.Name)
	}
	slices.Sort(m.Streams)
	return m, err
}

// Snapshot passes the parts of a stream to write.
func (a archiver) Snapshot(ctx context.Context, stream string, write func(part []byte) error) error {
	if a.streams == nil {
		return fmt.Errorf("%w: %s: the node stores none", admin.ErrNoStream, stream)
	}
	err := archive.Save(ctx, a.streams.engine, stream, write)
	if errors.Is(err, engine.ErrNoStream) {
		return fmt.Errorf("%w: %s", admin.ErrNoStream, stream)
	}
	return err
}
