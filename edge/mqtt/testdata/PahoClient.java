import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocketFactory;
import javax.net.ssl.TrustManagerFactory;
import org.eclipse.paho.client.mqttv3.IMqttDeliveryToken;
import org.eclipse.paho.mqttv5.client.IMqttToken;
import org.eclipse.paho.mqttv5.client.MqttConnectionOptions;
import org.eclipse.paho.mqttv5.client.MqttDisconnectResponse;
import org.eclipse.paho.mqttv5.common.MqttException;
import org.eclipse.paho.mqttv5.common.MqttMessage;
import org.eclipse.paho.mqttv5.common.MqttSubscription;
import org.eclipse.paho.mqttv5.common.packet.MqttProperties;
import org.eclipse.paho.mqttv5.common.packet.UserProperty;

/** Clients of Eclipse Paho for Java that check a server: PahoClient URL [CA]. CA is the file of the certificate that the server's is trusted by. */
class PahoClient {
    static final int PATIENCE = 60; // longest wait for an event, in seconds
    static String url;
    static Trusting sockets; // of TLS; null means the client's own
    static boolean five; // MQTT 5; otherwise 3.1.1

    record Message(String topic, String payload, int qos, boolean retain) {}

    /** A connection of a client. */
    abstract static class Peer {
        BlockingQueue<Message> messages = new LinkedBlockingQueue<>();
        boolean present; // the server has a session

        abstract int subscribe(String filter, int qos) throws Exception;

        abstract void send(String topic, byte[] payload, int qos, boolean retain) throws Exception;

        abstract void close() throws Exception;

        /** Ends the connection without DISCONNECT. */
        abstract void cut() throws Exception;

        void granted(String filter, int qos) throws Exception {
            equal(subscribe(filter, qos), qos);
        }

        void publish(String topic, String payload, int qos, boolean retain) throws Exception {
            send(topic, payload.getBytes(StandardCharsets.UTF_8), qos, retain);
        }

        void arrived(String topic, byte[] payload, int qos, boolean retain) {
            messages.add(new Message(topic, new String(payload, StandardCharsets.UTF_8), qos, retain));
        }

        Message message() throws Exception {
            Message m = messages.poll(PATIENCE, TimeUnit.SECONDS);
            if (m == null) {
                throw new AssertionError("no message");
            }
            return m;
        }

        void want(String topic, String payload, int qos, boolean retain) throws Exception {
            equal(message(), new Message(topic, payload, qos, retain));
        }
    }

    /** A client of MQTT 3.1.1. */
    static class Peer3 extends Peer implements org.eclipse.paho.client.mqttv3.MqttCallback {
        final org.eclipse.paho.client.mqttv3.MqttClient client;

        Peer3(String id, boolean lasting, String willTopic, String will) throws Exception {
            client = new org.eclipse.paho.client.mqttv3.MqttClient(url, id, new org.eclipse.paho.client.mqttv3.persist.MemoryPersistence());
            client.setTimeToWait(TimeUnit.SECONDS.toMillis(PATIENCE));
            client.setCallback(this);
            var options = new org.eclipse.paho.client.mqttv3.MqttConnectOptions();
            options.setMqttVersion(org.eclipse.paho.client.mqttv3.MqttConnectOptions.MQTT_VERSION_3_1_1);
            options.setCleanSession(!lasting);
            options.setMaxInflight(100); // not 10: publish returns before the client has counted down
            if (sockets != null) {
                options.setSocketFactory(sockets);
            }
            if (will != null) {
                options.setWill(willTopic, will.getBytes(StandardCharsets.UTF_8), 1, false);
            }
            present = client.connectWithResult(options).getSessionPresent();
        }

        int subscribe(String filter, int qos) throws Exception {
            return client.subscribeWithResponse(filter, qos).getGrantedQos()[0];
        }

        void send(String topic, byte[] payload, int qos, boolean retain) throws Exception {
            client.publish(topic, payload, qos, retain);
        }

        void close() throws Exception {
            client.disconnect();
            client.close();
        }

        void cut() throws Exception {
            client.disconnectForcibly(0, 0, false);
            client.close();
        }

        public void messageArrived(String topic, org.eclipse.paho.client.mqttv3.MqttMessage m) {
            arrived(topic, m.getPayload(), m.getQos(), m.isRetained());
        }

        public void connectionLost(Throwable cause) {}

        public void deliveryComplete(IMqttDeliveryToken token) {}
    }

    /** A client of MQTT 5. */
    static class Peer5 extends Peer implements org.eclipse.paho.mqttv5.client.MqttCallback {
        final org.eclipse.paho.mqttv5.client.MqttClient client;
        MqttProperties properties; // of the last message

        Peer5(String id, boolean lasting, String willTopic, String will) throws Exception {
            client = new org.eclipse.paho.mqttv5.client.MqttClient(url, id, new org.eclipse.paho.mqttv5.client.persist.MemoryPersistence());
            client.setTimeToWait(TimeUnit.SECONDS.toMillis(PATIENCE));
            client.setCallback(this);
            var options = new MqttConnectionOptions();
            options.setCleanStart(!lasting);
            if (lasting) {
                options.setSessionExpiryInterval(600L);
            }
            if (sockets != null) {
                options.setSocketFactory(sockets);
            }
            if (will != null) {
                options.setWill(willTopic, new MqttMessage(will.getBytes(StandardCharsets.UTF_8), 1, false, null));
            }
            present = client.connectWithResult(options).getSessionPresent();
        }

        int subscribe(String filter, int qos) throws Exception {
            return client.subscribe(filter, qos).getReasonCodes()[0];
        }

        void send(String topic, byte[] payload, int qos, boolean retain) throws Exception {
            client.publish(topic, payload, qos, retain);
        }

        void close() throws Exception {
            client.disconnect();
            client.close();
        }

        void cut() throws Exception {
            client.disconnectForcibly(0, 0, false);
            client.close();
            if (sockets != null) {
                sockets.last.close(); // the client leaves it open: it calls shutdownInput first, which fails with TLS
            }
        }

        public void messageArrived(String topic, MqttMessage m) {
            properties = m.getProperties();
            arrived(topic, m.getPayload(), m.getQos(), m.isRetained());
        }

        public void disconnected(MqttDisconnectResponse response) {}

        public void mqttErrorOccurred(MqttException e) {}

        public void deliveryComplete(IMqttToken token) {}

        public void connectComplete(boolean reconnect, String uri) {}

        public void authPacketArrived(int reason, MqttProperties p) {}
    }

    static Peer connect(String id, boolean lasting, String willTopic, String will) throws Exception {
        return five ? new Peer5(id, lasting, willTopic, will) : new Peer3(id, lasting, willTopic, will);
    }

    static Peer connect(String id) throws Exception {
        return connect(id, false, null, null);
    }

    static void close(Peer... peers) throws Exception {
        for (Peer each : peers) {
            each.close();
        }
    }

    static void equal(Object got, Object want) {
        if (!got.equals(want)) {
            throw new AssertionError("got " + got + ", want " + want);
        }
    }

    static void qos(String root) throws Exception {
        Peer pub = connect("pub"), sub = connect("sub");
        for (int granted = 0; granted <= 2; granted++) {
            sub.granted(root + "/+", granted);
            for (int sent = 0; sent <= 2; sent++) {
                pub.publish(root + "/" + sent, sent + " of " + granted, sent, false);
                sub.want(root + "/" + sent, sent + " of " + granted, Math.min(sent, granted), false);
            }
        }
        close(pub, sub);
    }

    static void retained(String root) throws Exception {
        Peer pub = connect("pub"), sub = connect("sub");
        for (String topic : List.of("a", "b")) {
            pub.publish(root + "/" + topic, topic, 1, true);
        }
        pub.publish(root + "/a", "", 1, true);
        sub.granted(root + "/#", 1);
        sub.want(root + "/b", "b", 1, true);
        pub.publish(root + "/b", "c", 1, true);
        sub.want(root + "/b", "c", 1, false);
        pub.publish(root + "/b", "", 1, true);
        sub.want(root + "/b", "", 1, false);
        close(pub, sub);
    }

    static void will(String root) throws Exception {
        Peer sub = connect("sub");
        sub.granted(root, 1);
        connect("leaves", false, root, "left").close();
        connect("vanishes", false, root, "vanished").cut();
        sub.want(root, "vanished", 1, false);
        sub.close();
    }

    static void session(String root) throws Exception {
        Peer pub = connect("pub"), sub = connect("lasting", true, null, null);
        equal(sub.present, false);
        sub.granted(root, 2);
        pub.publish(root, "first", 2, false);
        sub.want(root, "first", 2, false);
        sub.cut();
        for (int n = 0; n < 50; n++) {
            pub.publish(root, "" + n, 1 + n % 2, false);
        }
        sub = connect("lasting", true, null, null);
        equal(sub.present, true);
        List<Integer> one = new ArrayList<>(), two = new ArrayList<>(); // the client passes a message with QoS 2 on when PUBREL arrives: others may come before it
        while (one.size() + two.size() < 50) {
            Message m = sub.message();
            if (!m.payload.equals("first")) { // it comes again if PUBREC had not arrived
                (m.qos == 1 ? one : two).add(Integer.valueOf(m.payload));
            }
        }
        equal(one, IntStream.range(0, 25).mapToObj(n -> 2 * n).toList());
        equal(two, IntStream.range(0, 25).mapToObj(n -> 2 * n + 1).toList());
        sub.close();
        sub = connect("lasting");
        equal(sub.present, false);
        close(pub, sub);
    }

    static void shared(String root) throws Exception {
        Peer pub = connect("pub"), m1 = connect("m1"), m2 = connect("m2");
        m2.messages = m1.messages;
        for (Peer each : List.of(m1, m2)) {
            each.granted("$share/group/" + root + "/#", 1);
        }
        for (int n = 0; n < 40; n++) {
            pub.publish(root + "/" + n % 4, "" + n, 1, false);
        }
        List<Integer> got = new ArrayList<>();
        while (got.size() < 40) {
            got.add(Integer.valueOf(m1.message().payload));
        }
        equal(got.stream().sorted().toList(), IntStream.range(0, 40).boxed().toList());
        close(pub, m1, m2);
    }

    static void version5(String root) throws Exception {
        if (!five) {
            return;
        }
        Peer5 both = (Peer5) connect("both"), other = (Peer5) connect("other");
        var filter = new MqttSubscription(root + "/#", 1);
        filter.setNoLocal(true);
        equal(both.client.subscribe(new MqttSubscription[] {filter}).getReasonCodes()[0], 1);
        both.publish(root + "/1", "own", 1, false);
        var sent = new MqttProperties();
        sent.setContentType("text/plain");
        sent.setResponseTopic("reply/1");
        sent.setCorrelationData(new byte[] {0, 1});
        sent.setUserProperties(List.of(new UserProperty("a", "1"), new UserProperty("a", "2")));
        sent.setMessageExpiryInterval(1000L);
        other.client.publish(root + "/2", new MqttMessage("other".getBytes(StandardCharsets.UTF_8), 1, false, sent));
        both.want(root + "/2", "other", 1, false);
        MqttProperties got = both.properties;
        equal(got.getContentType(), "text/plain");
        equal(got.getResponseTopic(), "reply/1");
        equal(Arrays.toString(got.getCorrelationData()), "[0, 1]");
        equal(got.getUserProperties(), sent.getUserProperties());
        long left = got.getMessageExpiryInterval();
        equal(left > 0 && left <= 1000, true);
        close(both, other);
    }

    interface Check {
        void run(String root) throws Exception;
    }

    /** Makes sockets of TLS that trust one CA, and keeps the last one. */
    static class Trusting extends SSLSocketFactory {
        final SSLSocketFactory factory;
        volatile Socket last;

        Trusting(String file) throws Exception {
            var store = KeyStore.getInstance(KeyStore.getDefaultType());
            store.load(null, null);
            try (InputStream in = Files.newInputStream(Path.of(file))) {
                store.setCertificateEntry("ca", CertificateFactory.getInstance("X.509").generateCertificate(in));
            }
            var trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
            trust.init(store);
            var tls = SSLContext.getInstance("TLS");
            tls.init(null, trust.getTrustManagers(), null);
            factory = tls.getSocketFactory();
        }

        Socket keep(Socket s) {
            return last = s;
        }

        public Socket createSocket() throws IOException {
            return keep(factory.createSocket());
        }

        public Socket createSocket(String host, int port) throws IOException {
            return keep(factory.createSocket(host, port));
        }

        public Socket createSocket(String host, int port, InetAddress local, int localPort) throws IOException {
            return keep(factory.createSocket(host, port, local, localPort));
        }

        public Socket createSocket(InetAddress host, int port) throws IOException {
            return keep(factory.createSocket(host, port));
        }

        public Socket createSocket(InetAddress host, int port, InetAddress local, int localPort) throws IOException {
            return keep(factory.createSocket(host, port, local, localPort));
        }

        public Socket createSocket(Socket s, String host, int port, boolean close) throws IOException {
            return keep(factory.createSocket(s, host, port, close));
        }

        public String[] getDefaultCipherSuites() {
            return factory.getDefaultCipherSuites();
        }

        public String[] getSupportedCipherSuites() {
            return factory.getSupportedCipherSuites();
        }
    }

    public static void main(String[] args) {
        int count = 0, status = 0;
        try {
            url = args[0];
            if (args.length > 1) {
                sockets = new Trusting(args[1]);
            }
            Check[] checks = {PahoClient::qos, PahoClient::retained, PahoClient::will, PahoClient::session, PahoClient::shared, PahoClient::version5};
            for (boolean v5 : new boolean[] {false, true}) {
                five = v5;
                for (Check each : checks) {
                    for (String root : List.of("live", "stored")) {
                        each.run(root + "/" + count++);
                    }
                }
            }
            System.out.println("passed " + count);
        } catch (Throwable e) {
            System.err.println("check " + count + " with MQTT " + (five ? "5" : "3.1.1") + " fails:");
            e.printStackTrace();
            status = 1;
        }
        System.exit(status); // also if a thread of a client is left
    }
}
