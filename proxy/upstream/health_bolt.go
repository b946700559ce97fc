package upstream

import (
	"context"
	"fmt"

	"example.com/ferry/protocol/bolt"
)

// heartbeatID is the request id of a probe.
const heartbeatID = 1

// probeBolt sends a heartbeat and expects a response. It uses protocol version 1, which all servers support.
func probeBolt(ctx context.Context, to probed) error {
	heartbeat, err := bolt.AppendHeartbeat(nil, bolt.V1, heartbeatID)
	if err != nil {
		return err
	}
	conn, err := to.connect(ctx, Bolt)
	if err != nil {
		return err
	}
	defer conn.Close()
	return roundTrip(ctx, conn, heartbeat, func(data []byte) (bool, error) {
		f, need, err := bolt.Next(data, bolt.Limits{MaxFrame: 64 << 10})
		switch {
		case err != nil:
			return false, err
		case need > 0 || len(data) < f.FrameLen():
			return false, nil
		case f.Type() != bolt.Response || f.Command() != bolt.CommandHeartbeat || f.ID() != heartbeatID:
			return false, fmt.Errorf("a %v, %v, with id %d instead of the response to heartbeat %d", f.Command(), f.Type(), f.ID(), heartbeatID)
		case f.Status() != bolt.StatusSuccess:
			return false, fmt.Errorf("status %v", f.Status())
		}
		return true, nil
	})
}
