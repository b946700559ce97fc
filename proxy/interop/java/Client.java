import com.alipay.remoting.Connection;
import com.alipay.remoting.InvokeCallback;
import com.alipay.remoting.InvokeContext;
import com.alipay.remoting.Url;
import com.alipay.remoting.config.switches.ProtocolSwitch;
import com.alipay.remoting.exception.RemotingException;
import com.alipay.remoting.rpc.HeartbeatAckCommand;
import com.alipay.remoting.rpc.ResponseCommand;
import com.alipay.remoting.rpc.RpcAddressParser;
import com.alipay.remoting.rpc.RpcClient;
import com.alipay.remoting.rpc.RpcResponseFuture;
import com.alipay.remoting.rpc.exception.InvokeServerException;
import com.alipay.remoting.rpc.exception.InvokeTimeoutException;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A SOFABolt client: java Client HOST:PORT v1|v2|crc. It calls a Server in every way a client of SOFABolt can, all on one
 * connection, and prints a line for each: what was tried, and how many calls went as they should. Where one did not, the
 * line says "failed" and why, and the exit status is 1.
 */
final class Client {
    private static final int CALLS = 20;
    private static final int WAIT = 30_000; // ms; longer than any call takes on a machine that works
    private static final int SHORT = 200; // ms; the timeout of the call that has to run into it

    private interface Scenario {
        String run() throws Exception;
    }

    private final RpcClient client = new RpcClient();
    private final Url url;
    private final Connection connection;
    private final Witness witness;
    private final String name = "client-" + ProcessHandle.current().pid();
    private boolean failed;

    private Client(String address, String mode) throws Exception {
        client.startup();
        url = new RpcAddressParser().parse(address + switch (mode) {
            case "v1" -> "?_PROTOCOL=1";
            case "v2" -> "?_PROTOCOL=2&_VERSION=1";
            case "crc" -> "?_PROTOCOL=2&_VERSION=2";
            default -> throw new IllegalArgumentException("mode " + mode + ": want v1, v2 or crc");
        });
        connection = client.getConnection(url, WAIT);
        witness = new Witness(connection);
        connection.getChannel().pipeline().addBefore("handler", "witness", witness);
    }

    public static void main(String[] args) throws Exception {
        Server.Header.register();
        Client c = new Client(args[0], args[1]);
        c.report("sync", c::sync);
        c.report("future", c::future);
        c.report("callback", c::callback);
        c.report("oneway", c::oneway);
        c.report("exception", c::exception);
        c.report("timeout", c::timeout);
        c.report("out of order", c::outOfOrder);
        c.report("without crc", c::withoutCRC);
        c.report("100 KB", () -> c.large(100 << 10));
        c.report("1 MB", () -> c.large(1 << 20));
        c.report("heartbeat", c::heartbeat);
        c.report("no such service", c::noSuchService);
        c.report("connection", c::sameConnection);
        System.exit(c.failed ? 1 : 0);
    }

    private void report(String what, Scenario scenario) {
        try {
            System.out.println(what + ": " + scenario.run());
        } catch (Throwable e) {
            failed = true;
            System.out.println(what + ": failed: " + e);
            e.printStackTrace();
        }
    }

    private String sync() throws Exception {
        witness.switched.set(0);
        for (int i = 0; i < CALLS; i++) {
            check("text " + i, client.invokeSync(url, "echo text " + i, WAIT));
        }
        return CALLS + ", answers with the crc switch " + witness.switched;
    }

    private String withoutCRC() throws Exception {
        witness.switched.set(0);
        for (int i = 0; i < CALLS; i++) {
            InvokeContext context = new InvokeContext();
            context.put(InvokeContext.BOLT_CRC_SWITCH, false);
            check("text " + i, client.invokeSync(url, "echo text " + i, context, WAIT));
        }
        return CALLS + ", answers with the crc switch " + witness.switched;
    }

    private String future() throws Exception {
        List<RpcResponseFuture> answers = new ArrayList<>();
        for (int i = 0; i < CALLS; i++) {
            answers.add(client.invokeWithFuture(url, "echo text " + i, WAIT));
        }
        for (int i = 0; i < CALLS; i++) {
            check("text " + i, answers.get(i).get(WAIT));
        }
        return "" + CALLS;
    }

    private String callback() throws Exception {
        List<Answer> answers = new ArrayList<>();
        for (int i = 0; i < CALLS; i++) {
            Answer answer = new Answer();
            client.invokeWithCallback(url, "echo text " + i, answer, WAIT);
            answers.add(answer);
        }
        for (int i = 0; i < CALLS; i++) {
            check("text " + i, answers.get(i).get(WAIT, TimeUnit.MILLISECONDS));
        }
        return "" + CALLS;
    }

    // The last one of the meeting is answered when all the others, which nobody answers, have arrived.
    private String oneway() throws Exception {
        for (int i = 0; i < CALLS; i++) {
            client.oneway(url, meet("oneway", CALLS + 1, i));
        }
        check(CALLS + " of " + (CALLS + 1), client.invokeSync(url, meet("oneway", CALLS + 1, CALLS), WAIT));
        return "" + CALLS;
    }

    private String exception() throws Exception {
        try {
            throw new AssertionError("answered: " + client.invokeSync(url, "fail on purpose", WAIT));
        } catch (InvokeServerException e) {
            check(true, e.getMessage().contains("ServerErrorMsg:")
                    && e.getCause().toString().contains("IllegalArgumentException: refused: on purpose"));
        }
        return "1";
    }

    // The call meets another one after its own end, so its answer comes late and is nobody's.
    private String timeout() throws Exception {
        try {
            throw new AssertionError("answered: " + client.invokeSync(url, meet("timeout", 2, 0), SHORT));
        } catch (InvokeTimeoutException e) {
            check("1 of 2", client.invokeSync(url, meet("timeout", 2, 1), WAIT));
        }
        check("after it", client.invokeSync(url, "echo after it", WAIT));
        return "1";
    }

    private String outOfOrder() throws Exception {
        int n = 64;
        List<RpcResponseFuture> answers = new ArrayList<>();
        for (int i = 0; i < n; i++) {
            answers.add(client.invokeWithFuture(url, meet("out-of-order", n, i), WAIT));
        }
        for (int i = 0; i < n; i++) {
            check(i + " of " + n, answers.get(i).get(WAIT));
        }
        return "" + n;
    }

    private String large(int chars) throws Exception {
        StringBuilder text = new StringBuilder(chars);
        new Random(chars).ints(chars, ' ', '~').forEach(c -> text.append((char) c));
        for (int i = 0; i < 3; i++) {
            check(text.toString(), client.invokeSync(url, "echo " + text, WAIT));
        }
        return "3";
    }

    private String heartbeat() throws Exception {
        int n = 5;
        witness.heartbeats.drainPermits();
        if (!witness.heartbeats.tryAcquire(n, WAIT, TimeUnit.MILLISECONDS)) {
            throw new AssertionError(witness.heartbeats + " of " + n + " heartbeats answered");
        }
        check("after them", client.invokeSync(url, "echo after them", WAIT));
        return "" + n;
    }

    // Whoever has to know the service, a proxy or the server, answers with an error of its own.
    private String noSuchService() throws Exception {
        InvokeContext context = new InvokeContext();
        context.put(Server.Header.SERVICE, "com.example.Nobody:1.0");
        try {
            throw new AssertionError("answered: " + client.invokeSync(url, "echo text", context, WAIT));
        } catch (RemotingException e) {
            return "1, " + e.getMessage().split("[!,]")[0];
        }
    }

    private String sameConnection() throws Exception {
        check(connection, client.getConnection(url, WAIT));
        return "1, protocol " + connection.getChannel().attr(Connection.PROTOCOL).get().getFirstByte() + " version "
                + connection.getChannel().attr(Connection.VERSION).get();
    }

    private String meet(String what, int n, int i) {
        return "meet " + name + "-" + what + " " + n + " " + i;
    }

    private static void check(Object want, Object got) {
        if (!want.equals(got)) {
            throw new AssertionError("got " + brief(got) + ", want " + brief(want));
        }
    }

    private static String brief(Object o) {
        String s = String.valueOf(o);
        return s.length() <= 80 ? s : s.substring(0, 80) + "... (" + s.length() + " characters)";
    }

    /** What a call with a callback ends with. */
    private static final class Answer extends CompletableFuture<Object> implements InvokeCallback {
        @Override
        public void onResponse(Object result) {
            complete(result);
        }

        @Override
        public void onException(Throwable e) {
            completeExceptionally(e);
        }

        @Override
        public Executor getExecutor() {
            return null;
        }
    }

    /** Sees each answer before the client does. Counts heartbeats that were answered, and answers with the CRC switch on. */
    private static final class Witness extends ChannelInboundHandlerAdapter {
        final Semaphore heartbeats = new Semaphore(0);
        final AtomicInteger switched = new AtomicInteger();
        private final Connection connection;

        Witness(Connection connection) {
            this.connection = connection;
        }

        @Override
        public void channelRead(ChannelHandlerContext context, Object message) {
            for (Object m : message instanceof List<?> several ? several : List.of(message)) {
                ResponseCommand answer = (ResponseCommand) m;
                if (answer instanceof HeartbeatAckCommand && connection.getInvokeFuture(answer.getId()) != null) {
                    heartbeats.release();
                } else if (answer.getProtocolSwitch().isOn(ProtocolSwitch.CRC_SWITCH_INDEX)) {
                    switched.incrementAndGet();
                }
            }
            context.fireChannelRead(message);
        }
    }
}
