// Package kafka installs and starts Apache Kafka, a peer of stored streams.
//
// Install downloads Kafka's libraries from Maven Central into the user's cache directory, 43 MB. It needs mvn, and Start needs java,
// version 17 or later. A benchmark installs Kafka when it starts, and omits Kafka's row if that fails. Tests use Kafka only if it is
// installed.
package kafka
