package mqtt

import (
	wire "example.com/ferry/protocol/mqtt"
)

// usage is a number of messages and their bytes.
type usage struct{ count, bytes int }

// with returns u with what is added and without what is removed.
func (u usage) with(added, removed usage) usage {
	return usage{u.count + added.count - removed.count, u.bytes + added.bytes - removed.bytes}
}

// above reports whether u exceeds a limit.
func (u usage) above(limit usage) bool { return u.count > limit.count || u.bytes > limit.bytes }

// share is how many percent of a limit one identity may have if the others have nothing.
type share int64

// allows reports whether an identity may have own of a limit when all identities have all of it. It is the dynamic threshold of shared
// buffers (Choudhury and Hahne, 1998): what one identity may have is a multiple of what is free. However many take all they can, some is
// left for another one.
func (s share) allows(own, all, limit int) bool {
	return int64(own)*int64(100-s) <= int64(s)*int64(limit-all)
}

// SetIdentityShare replaces Config.IdentityShare. What an identity has above its share stays.
func (v *Server) SetIdentityShare(percent int) {
	if percent == 0 {
		percent = 100
	}
	v.share.Store(int64(percent))
}

func (v *Server) identityShare() share { return share(v.share.Load()) }

// checkRoom returns why an identity gets no further session, or nil. The first one of an identity needs no share, and one that replaces
// the last one of its client neither. The caller holds the lock.
func (v *Server) checkRoom(identity string, replaces bool) error {
	own, all := v.owned[identity]+1, len(v.sessions)+1
	switch {
	case all > v.cfg.MaxSessions:
		return refusal(wire.QuotaExceeded, "the server has as many sessions as it may")
	case own > 1 && !replaces && !v.identityShare().allows(own, all, v.cfg.MaxSessions):
		return refusal(wire.QuotaExceeded, "the identity has as many sessions as one identity may")
	}
	return nil
}

// add adds a session. The caller holds the lock.
func (v *Server) add(s *session) {
	v.sessions[s.key] = s
	v.owned[s.identity()]++
}

// drop removes a session, which has ended. The caller holds the lock.
func (v *Server) drop(s *session) {
	delete(v.sessions, s.key)
	identity := s.identity()
	if v.owned[identity]--; v.owned[identity] == 0 {
		delete(v.owned, identity)
	}
}
