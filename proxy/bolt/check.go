package bolt

import (
	"slices"

	"example.com/ferry/internal/invalid"
	"example.com/ferry/proxy/route"
)

// CheckRoutes returns an error for each element of a table that exists in HTTP only. The result is invalid.Errors, or
// nil. Field names are as in package route.
func CheckRoutes(t *route.Table) error {
	var errs invalid.Errors
	for _, r := range t.Routes() {
		f := &r.Forward
		for _, o := range []struct {
			is            bool
			field, reason string
		}{
			{r.Redirect != nil, "redirect", "Bolt has no redirects: forward to a cluster"},
			{r.Respond != nil, "respond", "a Bolt response is an object of the client's language: forward to a cluster"},
			{f.Rewrite != route.Rewrite{}, "forward.rewrite", "a Bolt request has neither path nor host: leave it out"},
			{r.Compression != nil, "compression", "a Bolt response has no content encoding: leave it out"},
			{hasEdits(f.Request), "forward.request", "Bolt headers are not edited: leave it out"},
			{hasEdits(f.Response), "forward.response", "Bolt headers are not edited: leave it out"},
			{f.Retry != nil && len(f.Retry.Statuses) > 0, "forward.retry.statuses", "statuses exist in HTTP only: leave them out"},
			{f.Retry != nil && slices.ContainsFunc(f.Retry.On, isHTTPCause), "forward.retry.on", "5xx, gateway-error and refused-stream exist in HTTP only: write connect-failure, reset or timeout"},
			{f.Retry != nil && len(f.Retry.GRPCStatuses) > 0, "forward.retry.grpc_statuses", "gRPC exists in HTTP only: leave them out"},
		} {
			if o.is {
				errs.Add("bolt", r.At+"."+o.field, "%s", o.reason)
			}
		}
	}
	return errs.Err()
}

func hasEdits(e route.Edits) bool { return len(e.Set)+len(e.Add)+len(e.Remove) > 0 }

func isHTTPCause(c route.Cause) bool {
	return c == route.On5xx || c == route.OnGatewayError || c == route.OnRefusedStream
}
