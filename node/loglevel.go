package node

import (
	"fmt"
	"log/slog"
	"time"

	"example.com/ferry/node/admin"
	"example.com/ferry/node/config"
)

// LogLevel returns the level of the log.
func (l *logOutput) LogLevel() admin.LogLevel {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state()
}

// state is LogLevel for a caller that holds mu.
func (l *logOutput) state() admin.LogLevel {
	s := admin.LogLevel{Level: string(levelName(l.level.Level())), Configured: string(l.configured)}
	if l.revert != nil {
		until := l.until
		s.Until = &until
	}
	return s
}

// SetLogLevel changes the level: for a time, or if lasts is 0 until the configuration of the log changes.
func (l *logOutput) SetLogLevel(level string, lasts time.Duration) (admin.LogLevel, error) {
	switch config.Level(level) {
	case config.LevelDebug, config.LevelInfo, config.LevelWarn, config.LevelError:
	default:
		return admin.LogLevel{}, fmt.Errorf("level: %q is none: want debug, info, warn or error", level)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopRevert()
	l.level.Set(slogLevel(config.Level(level)))
	if lasts > 0 {
		l.until = time.Now().Add(lasts)
		var timer *time.Timer
		timer = time.AfterFunc(lasts, func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			if l.revert == timer { // no other change came first
				l.revert = nil
				l.level.Set(slogLevel(l.configured))
			}
		})
		l.revert = timer
	}
	return l.state(), nil
}

// stopRevert ends the time of a level that lasts for a time. The caller holds mu.
func (l *logOutput) stopRevert() {
	if l.revert != nil {
		l.revert.Stop()
		l.revert = nil
	}
}

func slogLevel(of config.Level) (level slog.Level) {
	_ = level.UnmarshalText([]byte(of)) // it was checked
	return level
}

// levelName returns the name that the configuration has for a level.
func levelName(l slog.Level) config.Level {
	switch {
	case l < slog.LevelInfo:
		return config.LevelDebug
	case l < slog.LevelWarn:
		return config.LevelInfo
	case l < slog.LevelError:
		return config.LevelWarn
	}
	return config.LevelError
}
