package stream

import (
	"context"
	"errors"
	"fmt"

	"example.com/ferry"
	"example.com/ferry/protocol/native"
)

// ErrNotStored is the error of SendStored for a tag that the node does not store at least once.
var ErrNotStored = errors.New("stream: the node does not store this tag at least once")

// SendStored publishes m, as Send does, and waits until the node has stored it. If the node has dropped the message, the error
// wraps a *native.Error with the reason. After the error of ctx the message may still be stored; the error says if the storage waits, and
// why. If the node does not store the tag, the error is ErrNotStored, and m was not sent.
//
// With Config.Spool, SendStored waits until the message has left the spool, on any tag, and a later Flush tells that the node has
// dropped it.
func (c *Client) SendStored(ctx context.Context, m ferry.Message) error {
	if c.spooler != nil {
		return c.spooler.storeAndWait(ctx, &m)
	}
	s, err := c.sourceOf(ctx, m.Tag)
	if err != nil {
		return err
	}
	return s.SendStored(ctx, m)
}

// SendStored is Client.SendStored for the source's own tag.
func (s *Source) SendStored(ctx context.Context, m ferry.Message) error {
	if s.client.spooler != nil {
		m.Tag = s.tag
		return s.client.spooler.storeAndWait(ctx, &m)
	}
	stored := make(storedChan, 1)
	_, err := s.send(ctx, &m, sending{told: stored, mustStore: true})
	if err != nil {
		return err
	}
	select {
	case err = <-stored:
	case <-ctx.Done():
		return s.notStoredYet(ctx.Err())
	case <-s.client.ended:
		select {
		case err = <-stored:
		default:
			err = ErrClosed
		}
	}
	if err != nil {
		return fmt.Errorf("stream: message on %q: %w", s.tag, err)
	}
	return nil
}

// storedChan receives what has become of one message. Its capacity is 1.
type storedChan chan error

func (c storedChan) settle(err error) { c <- err }

// notStoredYet adds to the error of a context what is not stored.
func (s *Source) notStoredYet(err error) error {
	_, messages, _, reason := s.unstored.state()
	if messages == 0 {
		return err
	}
	if reason != "" {
		reason = "the storage of the node waits: " + reason + ": "
	}
	return fmt.Errorf("stream: %d messages on %q are not stored yet: %s%w", messages, s.tag, reason, err)
}

// whyBehind says why g has no credit.
func (s *Source) whyBehind(g *publishGrant) string {
	if !g.stored {
		return "its consumers are behind"
	}
	if _, _, _, reason := s.unstored.state(); reason != "" {
		return "the storage of the node waits: " + reason
	}
	return "the storage of the node is behind"
}

// tell tells what has become of messages. Dropped messages of which nothing was told are for the next Flush.
func (s *Source) tell(settled settlement) {
	settled.tell()
	for _, d := range settled.dropped {
		s.client.dropped(s.tag, d.count, d.why)
	}
}

func tooLong(cn *conn, size int) error {
	return fmt.Errorf("%w: %d bytes with its header, the node takes at most %d", ferry.ErrTooLarge, size, cn.maxFrame)
}

func checkKey(tag string, m *ferry.Message) error {
	if len(m.Key) > native.MaxKey || len(m.ID) > native.MaxID {
		return fmt.Errorf("stream: message on tag %q with a key of %d bytes and an ID of %d: at most %d and %d", tag, len(m.Key), len(m.ID), native.MaxKey, native.MaxID)
	}
	return nil
}

// extensionSize returns the length of a message's extension, with padding.
func extensionSize(m *ferry.Message, from descent) int {
	const entry = 3 // type and length
	n := 0
	if from.handled {
		n += entry + 1
	}
	if len(m.Key) > 0 {
		n += entry + len(m.Key)
	}
	if m.ID != "" {
		n += entry + len(m.ID)
	}
	return (n + 3) &^ 3
}

// appendExtended appends a PUB with the extension of m.
func appendExtended(dst []byte, h native.PubHeader, m *ferry.Message, from descent) []byte {
	var room [native.MaxKey + native.MaxID + 12]byte
	extension := room[:0]
	if from.handled {
		extension = append(extension, byte(native.TLVFunctions), 0, 1, from.functions)
	}
	return native.AppendExtendedPub(dst, h, native.AppendMessageTLVs(extension, m), m.Payload)
}
