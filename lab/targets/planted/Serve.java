import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.ReentrantLock;
import java.util.regex.Pattern;

/** A service whose requests do some work, and wait for one cause that is planted between two comments: Serve CAUSE PORT. */
public class Serve {
    private static final ArrayBlockingQueue<Integer> FREE = new ArrayBlockingQueue<>(3);
    private static int visits;

    static int authenticate(String token) throws InterruptedException {
        Thread.sleep(2); // another service
        return token.chars().sum();
    }

    // planted synchronized
    static synchronized void countVisit() throws InterruptedException {
        Thread.sleep(8);
        visits++;
    }
    // end

    // planted pool
    static int acquire() throws InterruptedException {
        return FREE.take();
    }
    // end

    static void query() throws InterruptedException {
        int connection = acquire();
        try {
            Thread.sleep(20);
        } finally {
            FREE.add(connection);
        }
    }

    private static final ReentrantLock LOCK = new ReentrantLock();
    private static final Semaphore TURNS = new Semaphore(2);

    // planted lock
    static void book() throws InterruptedException {
        LOCK.lock();
        try {
            Thread.sleep(7);
        } finally {
            LOCK.unlock();
        }
    }
    // end

    // planted semaphore
    static void enter() throws InterruptedException {
        TURNS.acquire();
    }
    // end

    static void transform() throws InterruptedException {
        enter();
        try {
            Thread.sleep(15);
        } finally {
            TURNS.release();
        }
    }

    // planted regex
    static boolean isMail(String text) {
        return MAIL.matcher(text).matches();
    }
    // end

    private static final Pattern MAIL = Pattern.compile("(([a-z0-9])+[.]?)+@[a-z]+\\2?");

    private static final ExecutorService ONE = Executors.newSingleThreadExecutor();

    // planted queue
    static void ask() throws InterruptedException {
        try {
            ONE.submit(() -> { Thread.sleep(8); return 1; }).get();
        } catch (ExecutionException error) {
            throw new IllegalStateException(error);
        }
    }
    // end

    // planted sort
    static int rank() {
        ArrayList<String> names = new ArrayList<>();
        for (int number = 0; number < 4000; number++) names.add("item " + number * 7919 % 4001);
        names.sort(Comparator.comparing(name -> new StringBuilder(name).reverse().toString()));
        return names.size();
    }
    // end

    static void act(String cause) throws InterruptedException {
        switch (cause) {
            case "pool" -> query();
            case "lock" -> book();
            case "semaphore" -> transform();
            case "regex" -> isMail("a".repeat(17) + "!");
            case "queue" -> ask();
            case "sort" -> rank();
            default -> countVisit();
        }
    }

    static void work(String cause, HttpExchange exchange) throws IOException {
        try {
            int sum = authenticate("token");
            act(cause);
            reply(exchange, "done " + sum + "\n");
        } catch (InterruptedException error) {
            throw new IOException(error);
        }
    }

    static void reply(HttpExchange exchange, String text) throws IOException {
        exchange.getRequestBody().readAllBytes();
        exchange.sendResponseHeaders(200, text.length());
        exchange.getResponseBody().write(text.getBytes());
        exchange.close();
    }

    public static void main(String[] args) throws IOException {
        for (int number = 0; number < 3; number++) FREE.add(number);
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(args[1])), 1024);
        server.createContext("/health", exchange -> reply(exchange, "ok\n"));
        server.createContext("/work", exchange -> work(args[0], exchange));
        server.setExecutor(Executors.newCachedThreadPool());
        server.start();
    }
}
