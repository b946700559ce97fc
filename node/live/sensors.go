package live

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/disk"
	"github.com/shirou/gopsutil/v4/mem"
	"github.com/shirou/gopsutil/v4/net"
	"github.com/shirou/gopsutil/v4/sensors"
)

// reading is one number a sensor shows. Its unit is %, B, B/s or Cel.
type reading struct {
	resource string
	units    string
	value    float64
}

// sensor reads a group of numbers. read returns no readings while it has none.
type sensor struct {
	name string
	slow bool // reading takes milliseconds: once a second is enough
	read func(ctx context.Context) ([]reading, error)
}

// machine returns the sensors of this machine. Each keeps its own last reading.
func machine() []sensor {
	return []sensor{
		{name: "cpu", read: new(cpuSensor).read},
		{name: "memory", read: readMemory},
		{name: "disk", read: new(diskSensor).read},
		{name: "network", read: new(networkSensor).read},
		{name: "temperature", slow: true, read: readTemperature},
	}
}

// cpuSensor reads how busy each core was since the last reading. The first number is that of all cores together.
type cpuSensor struct{ last []cpu.TimesStat }

func (s *cpuSensor) read(ctx context.Context) ([]reading, error) {
	now, err := cpu.TimesWithContext(ctx, true)
	if err != nil {
		return nil, err
	}
	last := s.last
	s.last = now
	if len(last) != len(now) { // the first reading, or the number of cores changed
		return nil, nil
	}
	all := make([]reading, 1, len(now)+1)
	var busy, total float64
	for i, n := range now {
		b, t := busySeconds(n)-busySeconds(last[i]), totalSeconds(n)-totalSeconds(last[i])
		busy, total = busy+b, total+t
		all = append(all, reading{fmt.Sprintf("cpu%d", i), "%", percent(b, t)})
	}
	if total == 0 { // the kernel has not updated its counters since
		return nil, nil
	}
	all[0] = reading{"cpu", "%", percent(busy, total)}
	return all, nil
}

func busySeconds(t cpu.TimesStat) float64 {
	return t.User + t.System + t.Nice + t.Irq + t.Softirq + t.Steal
}

func totalSeconds(t cpu.TimesStat) float64 { return busySeconds(t) + t.Idle + t.Iowait }

func percent(part, whole float64) float64 {
	if whole <= 0 {
		return 0
	}
	return min(100, max(0, 100*part/whole))
}

func readMemory(ctx context.Context) ([]reading, error) {
	m, err := mem.VirtualMemoryWithContext(ctx)
	if err != nil {
		return nil, err
	}
	return []reading{
		{"used_percent", "%", m.UsedPercent},
		{"used", "B", float64(m.Used)},
		{"available", "B", float64(m.Available)},
	}, nil
}

// meter converts a growing counter into a rate per second.
type meter struct {
	last uint64
	at   time.Time
}

// rate returns the growth since the last call; ok is false for the first call, and when the counter was reset.
func (m *meter) rate(count uint64, now time.Time) (perSecond float64, ok bool) {
	last, seconds := m.last, now.Sub(m.at).Seconds()
	ok = !m.at.IsZero() && count >= last && seconds > 0
	m.last, m.at = count, now
	if !ok {
		return 0, false
	}
	return float64(count-last) / seconds, true
}

// diskSensor reads how full the root file system is, and the bytes all disks read and wrote.
type diskSensor struct{ bytesRead, bytesWritten meter }

func (s *diskSensor) read(ctx context.Context) ([]reading, error) {
	usage, err := disk.UsageWithContext(ctx, "/")
	if err != nil {
		return nil, err
	}
	all := []reading{{"used_percent", "%", usage.UsedPercent}}
	disks, err := disk.IOCountersWithContext(ctx)
	if err != nil || len(disks) == 0 { // a container may show none
		return all, nil //nolint:nilerr // the first number is valid without the others
	}
	var read, written uint64
	for name, d := range disks {
		if isWhole(name, disks) {
			read += d.ReadBytes
			written += d.WriteBytes
		}
	}
	now := time.Now()
	r, ok := s.bytesRead.rate(read, now)
	w, also := s.bytesWritten.rate(written, now)
	if ok && also {
		all = append(all, reading{"read", "B/s", r}, reading{"written", "B/s", w})
	}
	return all, nil
}

// isWhole reports whether name is a disk of its own: sda1 is counted in sda, loop and ram disks are counted below them.
func isWhole(name string, disks map[string]disk.IOCountersStat) bool {
	for _, virtual := range []string{"loop", "ram", "zram", "dm-", "md"} {
		if strings.HasPrefix(name, virtual) {
			return false
		}
	}
	for other := range disks {
		if rest, ok := strings.CutPrefix(name, other); ok && rest != "" {
			return false
		}
	}
	return true
}

// networkSensor reads the bytes all interfaces but loopback received and sent.
type networkSensor struct{ received, sent meter }

func (s *networkSensor) read(ctx context.Context) ([]reading, error) {
	interfaces, err := net.IOCountersWithContext(ctx, true)
	if err != nil {
		return nil, err
	}
	var received, sent uint64
	for _, i := range interfaces {
		if i.Name == "lo" || strings.HasPrefix(i.Name, "lo0") {
			continue
		}
		received += i.BytesRecv
		sent += i.BytesSent
	}
	now := time.Now()
	r, ok := s.received.rate(received, now)
	w, also := s.sent.rate(sent, now)
	if !ok || !also {
		return nil, nil
	}
	return []reading{{"received", "B/s", r}, {"sent", "B/s", w}}, nil
}

// readTemperature reads all temperature sensors. A machine without any gives no readings.
func readTemperature(ctx context.Context) ([]reading, error) {
	found, err := sensors.TemperaturesWithContext(ctx)
	var all []reading
	for _, s := range found {
		if s.Temperature > 0 && s.SensorKey != "" {
			all = append(all, reading{s.SensorKey, "Cel", s.Temperature})
		}
	}
	if len(all) > 0 {
		return all, nil // err names the sensors that could not be read
	}
	return nil, err
}
