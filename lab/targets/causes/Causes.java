import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.ThreadLocalRandom;

/** The service in Java: a monitor, a semaphore, or a rate limit. */
public class Causes {
    private static final Object LOCK = new Object();
    private static final String CAUSE = System.getenv("CAUSE");
    private static final Semaphore POOL = new Semaphore(Integer.parseInt(System.getenv("POOL")), true);
    private static final double GAP_NS = 1e9 / Double.parseDouble(System.getenv("RATE"));
    private static final int BURST = 6;
    private static final Map<String, Integer> HOLDS_MS = switch (CAUSE) {
        case "lock" -> Map.of("/a", 20, "/b", 8);
        case "pool" -> Map.of("/a", 80, "/b", 32);
        default -> Map.of("/a", 4, "/b", 2);
    };
    private static double releasedNs = System.nanoTime();

    public static void main(String[] args) throws IOException {
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(System.getenv("PORT"))), 1024);
        server.createContext("/", exchange -> {
            Integer meanMs = HOLDS_MS.get(exchange.getRequestURI().getPath());
            try {
                if (meanMs != null) work(meanMs);
            } catch (InterruptedException error) {
                throw new IOException(error);
            }
            exchange.sendResponseHeaders(200, 3);
            exchange.getResponseBody().write("ok\n".getBytes());
            exchange.close();
        });
        server.setExecutor(Executors.newCachedThreadPool());
        server.start();
    }

    private static void work(int meanMs) throws InterruptedException {
        switch (CAUSE) {
            case "lock" -> {
                synchronized (LOCK) {
                    hold(meanMs);
                }
            }
            case "pool" -> {
                POOL.acquire();
                try {
                    hold(meanMs);
                } finally {
                    POOL.release();
                }
            }
            default -> {
                delay();
                hold(meanMs);
            }
        }
    }

    private static void hold(int meanMs) throws InterruptedException {
        Thread.sleep(Math.round(meanMs * (0.5 + ThreadLocalRandom.current().nextDouble())));
    }

    private static void delay() throws InterruptedException {
        double waitNs;
        synchronized (LOCK) {
            double nowNs = System.nanoTime(), atNs = Math.max(releasedNs, nowNs - (BURST - 1) * GAP_NS);
            releasedNs = atNs + GAP_NS;
            waitNs = atNs - nowNs;
        }
        if (waitNs > 0) Thread.sleep((long) (waitNs / 1e6), (int) (waitNs % 1e6));
    }
}
