import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** k threads work, each on one request for s; the others wait in the pool's queue. */
public class Pool {
    public static void main(String[] args) throws IOException {
        int workers = Integer.parseInt(System.getenv("WORKERS"));
        long sleepMs = Math.round(1000 * Double.parseDouble(System.getenv("SLEEP_S")));
        ExecutorService pool = Executors.newFixedThreadPool(workers);
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(System.getenv("PORT"))), 1024);
        server.createContext("/health", exchange -> reply(exchange, "ok\n"));
        server.createContext("/work", exchange -> pool.submit(() -> {
            Thread.sleep(sleepMs);
            reply(exchange, "slept\n");
            return null;
        }));
        server.setExecutor(Executors.newCachedThreadPool());
        server.start();
    }

    private static void reply(HttpExchange exchange, String text) throws IOException {
        exchange.sendResponseHeaders(200, text.length());
        exchange.getResponseBody().write(text.getBytes());
        exchange.close();
    }
}
