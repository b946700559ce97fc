package admin

import (
	"errors"
	"net/http"
	"strconv"

	"example.com/ferry/proxy"
	"example.com/ferry/proxy/upstream"
)

// Endpoints changes which endpoints of the proxy get requests.
type Endpoints interface {
	// DrainEndpoint decides whether an endpoint gets requests.
	DrainEndpoint(cluster, address string, drained bool) (upstream.Change, error)
	// WeighEndpoint gives an endpoint a weight; 0 means that of the configuration.
	WeighEndpoint(cluster, address string, weight int) (upstream.Change, error)
}

var _ Endpoints = (*proxy.Proxy)(nil)

// EndpointChange is the response to a change of an endpoint.
type EndpointChange struct {
	Cluster   string        `json:"cluster"`
	Endpoint  ProxyEndpoint `json:"endpoint"`
	Available int           `json:"available"` // endpoints of the cluster that get requests now
}

// endpointRoutes adds what changes endpoints. The address is one escaped segment of the path.
func endpointRoutes(mux *http.ServeMux, cfg Config) {
	handle := func(verb string, change func(cluster, address string, r *http.Request) (upstream.Change, error)) {
		mux.Handle("POST /api/proxy/clusters/{cluster}/endpoints/{address}/"+verb, requireAction(cfg, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			cluster := r.PathValue("cluster")
			done, err := change(cluster, r.PathValue("address"), r)
			var query *queryError
			switch {
			case errors.As(err, &query), errors.Is(err, upstream.ErrWeight):
				writeText(w, http.StatusBadRequest, err.Error())
			case errors.Is(err, proxy.ErrUnknownCluster), errors.Is(err, upstream.ErrUnknownEndpoint):
				writeText(w, http.StatusNotFound, "no endpoint "+printable(r.PathValue("address"))+" in a cluster "+printable(cluster)+": GET /api/proxy lists them")
			case err != nil:
				writeText(w, http.StatusInternalServerError, err.Error())
			default:
				writeJSON(w, EndpointChange{cluster, endpointOf(done.Endpoint, cfg.Proxy().Now), done.Available})
			}
		})))
	}
	for verb, drained := range map[string]bool{"drain": true, "undrain": false} {
		handle(verb, func(cluster, address string, _ *http.Request) (upstream.Change, error) {
			return cfg.Endpoints.DrainEndpoint(cluster, address, drained)
		})
	}
	handle("weight", func(cluster, address string, r *http.Request) (upstream.Change, error) {
		weight, err := strconv.Atoi(r.URL.Query().Get("value"))
		if err != nil {
			return upstream.Change{}, &queryError{"value", "a number, 1 to 1000, or 0 for the weight of the configuration"}
		}
		return cfg.Endpoints.WeighEndpoint(cluster, address, weight)
	})
}
