package http2

import (
	"encoding/binary"
	"math"
)

// The parameters of SETTINGS. RFC 9113, section 6.5.2; RFC 8441, section 3.
const (
	settingHeaderTableSize      = 0x1
	settingEnablePush           = 0x2
	settingMaxConcurrentStreams = 0x3
	settingInitialWindowSize    = 0x4
	settingMaxFrameSize         = 0x5
	settingMaxHeaderListSize    = 0x6
	settingEnableConnect        = 0x8
)

// peerSettings are the parameters of the peer that apply to what this side sends.
type peerSettings struct {
	known           bool // the peer's first SETTINGS have arrived
	initialWindow   int
	maxFrame        int
	maxStreams      int
	maxHeader       int // 0 if the peer has not said so
	extendedConnect bool
}

// maxUsedFrame bounds the DATA frames that this side sends, so the streams of a connection alternate.
const maxUsedFrame = 16 << 10

// writeFirstSettings writes this side's SETTINGS, and WINDOW_UPDATE for the connection's window. RFC 9113, sections 3.4 and 6.9.2.
func (c *Conn) writeFirstSettings() {
	var buf [frameHeaderSize + 7*settingSize + frameHeaderSize + 4]byte
	p := buf[:frameHeaderSize]
	if c.client {
		p = appendSetting(p, settingEnablePush, 0)
	} else {
		p = appendSetting(p, settingMaxConcurrentStreams, uint32(c.cfg.MaxStreams))
		if c.cfg.ExtendedConnect {
			p = appendSetting(p, settingEnableConnect, 1)
		}
	}
	if c.cfg.HeaderTable != DefaultHeaderTable {
		p = appendSetting(p, settingHeaderTableSize, uint32(c.cfg.HeaderTable))
	}
	if c.cfg.StreamWindow != initialWindow {
		p = appendSetting(p, settingInitialWindowSize, uint32(c.cfg.StreamWindow))
	}
	if c.cfg.MaxFrame != minMaxFrame {
		p = appendSetting(p, settingMaxFrameSize, uint32(c.cfg.MaxFrame))
	}
	p = appendSetting(p, settingMaxHeaderListSize, uint32(c.cfg.MaxHeader))
	putFrameHeader(p, len(p)-frameHeaderSize, frameSettings, 0, 0)
	if more := c.cfg.ConnWindow - initialWindow; more > 0 {
		p = appendFrameHeader(p, 4, frameWindowUpdate, 0, 0)
		p = binary.BigEndian.AppendUint32(p, uint32(more))
	}
	c.out.Write(p)
}

// streamWindow returns the receive window of a new stream. Until the peer has acknowledged SETTINGS, it may use the larger of the
// default window and the configured one.
func (c *Conn) streamWindow() int {
	if c.settingsAck {
		return c.cfg.StreamWindow
	}
	return max(c.cfg.StreamWindow, initialWindow)
}

// receiveSettings applies a SETTINGS frame. RFC 9113, section 6.5.
func (c *Conn) receiveSettings(h frameHeader, p []byte) *ConnError {
	switch {
	case h.stream != 0:
		return c.fail(ProtocolError, "SETTINGS on a stream")
	case h.has(flagAck) && len(p) > 0, len(p)%settingSize != 0:
		return c.fail(FrameSizeError, "SETTINGS of a wrong length")
	case h.has(flagAck):
		if c.settingsAck {
			return c.spend(AbuseSettings)
		}
		c.settingsAcknowledged()
		return nil
	}
	if c.phase == awaitingSettings {
		c.phase, c.peer.known = established, true
		c.sendWindow = initialWindow
		if c.client {
			c.peer.maxStreams = maxStreamID // RFC 9113, section 6.5.2: without the parameter there is no limit
		}
	} else if err := c.spend(AbuseSettings); err != nil {
		return err
	}
	window := c.peer.initialWindow
	for ; len(p) > 0; p = p[settingSize:] {
		if err := c.applySetting(binary.BigEndian.Uint16(p), binary.BigEndian.Uint32(p[2:]), &window); err != nil {
			return err
		}
	}
	if err := c.changeInitialWindow(window); err != nil {
		return err
	}
	c.writeControl(c.control(0, frameSettings, flagAck, 0))
	return nil
}

// applySetting applies one parameter. An unknown one is ignored.
func (c *Conn) applySetting(id uint16, value uint32, window *int) *ConnError {
	switch id {
	case settingHeaderTableSize:
		c.encoder.table.setPeerLimit(value)
	case settingEnablePush:
		if value > 1 || c.client && value == 1 {
			return c.fail(ProtocolError, "SETTINGS_ENABLE_PUSH with a value that is not allowed")
		}
	case settingMaxConcurrentStreams:
		c.peer.maxStreams = int(min(value, maxStreamID))
	case settingInitialWindowSize:
		if value > maxWindow {
			return c.fail(FlowControlError, "SETTINGS_INITIAL_WINDOW_SIZE above 2^31-1")
		}
		*window = int(value)
	case settingMaxFrameSize:
		if value < minMaxFrame || value > maxMaxFrame {
			return c.fail(ProtocolError, "SETTINGS_MAX_FRAME_SIZE that is not within 16384 and 16777215")
		}
		c.peer.maxFrame = int(value)
	case settingMaxHeaderListSize:
		c.peer.maxHeader = int(min(value, math.MaxInt32))
	case settingEnableConnect:
		if value > 1 || c.peer.extendedConnect && value == 0 {
			return c.fail(ProtocolError, "SETTINGS_ENABLE_CONNECT_PROTOCOL with a value that is not allowed")
		}
		c.peer.extendedConnect = value == 1
	}
	return nil
}

// PeerMaxHeader returns the length of heads in bytes that the peer accepts, as it advises (RFC 9113, section 6.5.2); 0 if it has not.
func (c *Conn) PeerMaxHeader() int { return c.peer.maxHeader }

// settingsAcknowledged applies the limits that the peer keeps to from now on.
func (c *Conn) settingsAcknowledged() {
	c.settingsAck = true
	c.decoder.setLimit(c.cfg.HeaderTable)
	if less := initialWindow - c.cfg.StreamWindow; less > 0 {
		for s := c.streams.all; s != nil; s = s.allNext {
			s.recvWindow -= less
		}
	}
}
