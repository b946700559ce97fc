package httpproxy

import (
	"strconv"

	"example.com/ferry/bench/internal/envoy"
)

// envoyConfig disables features that the other peers do not have: request identifiers, headers about the upstream, and
// statistics of response codes.
const envoyConfig = `static_resources:
  listeners:
  - name: front
    address: {socket_address: {address: 127.0.0.1, port_value: {{.Port}}}}
    tcp_backlog_size: 4096
    filter_chains:
    - filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: front
          generate_request_id: false
          http_filters:
          - name: envoy.filters.http.router
            typed_config:
              "@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router
              suppress_envoy_headers: true
              dynamic_stats: false
          route_config:
            virtual_hosts:
            - name: all
              domains: ["*"]
              routes:
              - match: {prefix: /}
                route: {cluster: up, timeout: 0s}
{{- if .TLS.Cert}}
      transport_socket:
        name: envoy.transport_sockets.tls
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext
          common_tls_context:
            alpn_protocols: [{{if .HTTP2}}h2{{else}}http/1.1{{end}}]
            tls_params: {ecdh_curves: [X25519], tls_maximum_protocol_version: TLSv1_3}
            tls_certificates:
            - {certificate_chain: {filename: {{.TLS.Cert}}}, private_key: {filename: {{.TLS.Key}}}}
{{- end}}
  clusters:
  - name: up
    type: STATIC
{{- if .UpstreamHTTP2}}
    typed_extension_protocol_options:
      envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
        "@type": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions
        explicit_http_config: {http2_protocol_options: {}}
{{- end}}
{{- if .UpstreamTLS.Cert}}
    transport_socket:
      name: envoy.transport_sockets.tls
      typed_config:
        "@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext
        sni: localhost
        common_tls_context:
          alpn_protocols: [{{if .UpstreamHTTP2}}h2{{else}}http/1.1{{end}}]
          tls_params: {ecdh_curves: [X25519], tls_maximum_protocol_version: TLSv1_3}
          validation_context: {trusted_ca: {filename: {{.UpstreamTLS.Cert}}}}
{{- end}}
    circuit_breakers:
      thresholds:
      - {max_connections: 100000, max_pending_requests: 100000, max_requests: 100000}
    load_assignment:
      cluster_name: up
      endpoints:
      - lb_endpoints:
        - endpoint:
            address: {socket_address: {address: 127.0.0.1, port_value: {{.UpstreamPort}}}}
`

func envoyProxy() (Program, error) {
	if err := envoy.Install(); err != nil {
		return Program{Name: "Envoy"}, err
	}
	p := configured("Envoy", envoy.Version, "envoy.yaml", envoyConfig, func(s Setup, file string) []string {
		return []string{envoy.Path(), "-c", file, "--concurrency", strconv.Itoa(s.Workers), "--disable-hot-restart", "-l", "error"}
	})
	p.supports = always
	return p, nil
}
