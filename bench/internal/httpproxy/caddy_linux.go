package httpproxy

// caddyConfig has no practical limit of idle connections. The admin server of Caddy serves the number of goroutines.
const caddyConfig = `{
	admin {{.Admin}}
	auto_https off
	grace_period 100ms
	log {
		level ERROR
	}
}
http://:{{.Port}} {
	bind 127.0.0.1
	reverse_proxy {{.Upstream}} {
		transport http {
			keepalive 1h
			keepalive_idle_conns 2000
			keepalive_idle_conns_per_host 2000
		}
	}
}
`

func caddy() (Program, error) {
	path, version, err := Installed("caddy", "version")
	if err != nil {
		return Program{Name: "Caddy"}, err
	}
	p := configured("Caddy", version, "Caddyfile", caddyConfig, func(s Setup, file string) []string {
		return []string{"env", "HOME=" + s.Dir, "XDG_DATA_HOME=" + s.Dir, "XDG_CONFIG_HOME=" + s.Dir, path, "run", "--adapter", "caddyfile", "--config", file}
	})
	p.Goroutines = true
	return p, nil
}
