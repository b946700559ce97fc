package config

import (
	"fmt"
	"reflect"
	"sync"
	"time"

	"example.com/ferry/internal/certs"
	"example.com/ferry/internal/topic"
	"example.com/ferry/protocol/native"
)

// ExpirySoon is how long before its expiry ferry check warns about a certificate.
const ExpirySoon = 14 * 24 * time.Hour

// certificateFiles finds the fields that name a file of certificates, in all sections.
var certificateFiles = sync.OnceValue(func() *search { return searchNames("cert_file", "client_ca_file", "ca_file") })

// CertificateWarnings returns a warning for each certificate in the files of c, the valid configuration of s, that has expired at now, is not valid yet,
// or expires within a time.
func (s *Source) CertificateWarnings(c *Config, now time.Time, within time.Duration) (list []*Error) {
	certificateFiles().each(c, func(at searchPath, v reflect.Value) {
		if v.String() == "" {
			return
		}
		reasons, _ := certs.TimeWarnings(v.String(), now, within) // Config has reported an error of the file
		for _, reason := range reasons {
			list = append(list, s.At(at.String(), v.String()+": "+reason))
		}
	})
	return sorted(list)
}

// Warnings returns what a node with c, the valid configuration of s, runs with, but its user should change: streams that grow until the disk is full, and
// deployed functions that may feed each other.
func (s *Source) Warnings(c *Config) (list []*Error) {
	for i, stream := range c.Streams {
		if r := stream.Retention; stream.Delivery == AtLeastOnce && r.Age == 0 && r.Size == 0 && r.Messages == 0 {
			list = append(list, s.At(fmt.Sprintf("streams[%d]", i),
				"no retention: the stream grows until the disk is full, and then its publishers wait; bound it, such as retention: {age: 168h, size: 1GiB}"))
		}
	}
	for i, published := range c.Deploy.Publish {
		for _, filter := range c.Deploy.Subscribe {
			if topic.Overlap(published, filter) {
				list = append(list, s.At(fmt.Sprintf("deploy.publish[%d]", i), fmt.Sprintf(
					"%q has tags of deploy.subscribe, %q: deployed functions may feed each other, and the node drops what has come through %d of them", published, filter, native.MaxFunctions)))
				break
			}
		}
	}
	return list
}
