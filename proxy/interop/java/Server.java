import com.alipay.remoting.AsyncContext;
import com.alipay.remoting.BizContext;
import com.alipay.remoting.CustomSerializerManager;
import com.alipay.remoting.DefaultCustomSerializer;
import com.alipay.remoting.InvokeContext;
import com.alipay.remoting.exception.DeserializationException;
import com.alipay.remoting.exception.SerializationException;
import com.alipay.remoting.rpc.RequestCommand;
import com.alipay.remoting.rpc.ResponseCommand;
import com.alipay.remoting.rpc.RpcServer;
import com.alipay.remoting.rpc.protocol.AsyncUserProcessor;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;

/**
 * A SOFABolt server on a free port of 127.0.0.1. It prints "listening on PORT" and serves until its standard input ends.
 *
 * Requests and answers are Strings. "echo TEXT" is answered with TEXT, "fail TEXT" with an exception. "meet NAME N I" is
 * the I-th, from 0, of N requests that wait for each other: when all are there, they are answered from the last to the
 * first, each with "I of N".
 */
final class Server extends AsyncUserProcessor<String> {
    private final Map<String, AsyncContext[]> meetings = new HashMap<>();

    public static void main(String[] args) throws IOException {
        Header.register();
        RpcServer server = new RpcServer("127.0.0.1", 0);
        server.registerUserProcessor(new Server());
        server.startup();
        System.out.println("listening on " + server.port());
        while (System.in.read() >= 0) {
        }
        System.exit(0);
    }

    @Override
    public String interest() {
        return String.class.getName();
    }

    // A request that was under way for longer than its timeout is answered nevertheless: a late answer is a test.
    @Override
    public boolean timeoutDiscard() {
        return false;
    }

    @Override
    public void handleRequest(BizContext context, AsyncContext answer, String request) {
        String[] words = request.split(" ", 2);
        switch (words[0]) {
            case "echo" -> answer.sendResponse(words[1]);
            case "meet" -> meet(answer, words[1].split(" "));
            default -> throw new IllegalArgumentException("refused: " + words[1]);
        }
    }

    private synchronized void meet(AsyncContext answer, String[] words) {
        String name = words[0];
        int n = Integer.parseInt(words[1]);
        AsyncContext[] waiting = meetings.computeIfAbsent(name, k -> new AsyncContext[n]);
        waiting[Integer.parseInt(words[2])] = answer;
        if (Arrays.asList(waiting).contains(null)) {
            return;
        }
        meetings.remove(name);
        for (int i = n - 1; i >= 0; i--) {
            waiting[i].sendResponse(i + " of " + n);
        }
    }

    /**
     * The header of each request and each answer; whoever receives another one says so. That is seen where the content is
     * read, as only there SOFABolt asks when no header came at all; the content itself is left to Hessian.
     */
    static final class Header extends DefaultCustomSerializer {
        /** The key, in the header and in the context of a call to another service than this one. */
        static final String SERVICE = "service";

        static void register() {
            CustomSerializerManager.registerCustomSerializer(String.class.getName(), new Header());
        }

        // A key's length, the key, its value's length, the value, and so on, as SOFARPC does it.
        private static byte[] encode(String... words) {
            ByteBuffer b = ByteBuffer.allocate(1024);
            for (String word : words) {
                byte[] utf8 = word.getBytes(StandardCharsets.UTF_8);
                b.putInt(utf8.length).put(utf8);
            }
            return Arrays.copyOf(b.array(), b.position());
        }

        private static byte[] request(String service) {
            return encode(SERVICE, service, "empty", "", "größe", "ß");
        }

        private static final byte[] REQUEST = request("com.example.Interop:1.0");
        private static final byte[] RESPONSE = encode("answered by", "Java");

        private static void check(byte[] got, byte[] want) throws DeserializationException {
            if (!Arrays.equals(got, want)) {
                throw new DeserializationException("header " + Arrays.toString(got) + ", want " + Arrays.toString(want));
            }
        }

        @Override
        public <T extends RequestCommand> boolean serializeHeader(T request, InvokeContext context)
                throws SerializationException {
            String other = context == null ? null : context.get(SERVICE);
            request.setHeader(other == null ? REQUEST : request(other));
            return true;
        }

        @Override
        public <T extends RequestCommand> boolean deserializeContent(T request) throws DeserializationException {
            check(request.getHeader(), REQUEST);
            return false;
        }

        @Override
        public <T extends ResponseCommand> boolean serializeHeader(T response) throws SerializationException {
            response.setHeader(RESPONSE);
            return true;
        }

        @Override
        public <T extends ResponseCommand> boolean deserializeContent(T response, InvokeContext context)
                throws DeserializationException {
            check(response.getHeader(), RESPONSE);
            return false;
        }
    }
}
