// A service with a thread for each connection, whose requests take a lock by spinning, planted between two comments: serve CAUSE PORT.
#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static volatile int held;
static long visits;

static int authenticate(const char *token) {
  int sum = 0;
  for (int round = 0; round < 200; round++)
    for (const char *letter = token; *letter; letter++) sum += *letter * round % 7;
  return sum;
}

// planted spin
static void take(void) {
  while (__sync_lock_test_and_set(&held, 1))
    while (held) {
    }
}
// end

static void count_visit(void) {
  take();
  usleep(3000);
  visits++;
  __sync_lock_release(&held);
}

// planted hash
static unsigned digest(const char *text) {
  unsigned sum = 0;
  for (int round = 0; round < 20000; round++)
    for (const char *letter = text; *letter; letter++) sum = sum * 31 + *letter;
  return sum;
}
// end

static int compare(const void *one, const void *other) {
  return strcmp(*(const char **)one, *(const char **)other);
}

// planted sort
static unsigned rank(void) {
  enum { MANY = 20000 };
  static __thread char names[MANY][12];
  static __thread const char *sorted[MANY];
  for (int number = 0; number < MANY; number++) {
    snprintf(names[number], sizeof names[number], "%d", number * 7919 % 20011);
    sorted[number] = names[number];
  }
  qsort(sorted, MANY, sizeof *sorted, compare);
  return sorted[0][0];
}
// end

static int hashes, sorts;

static void *serve(void *argument) {
  int connection = (int)(long)argument;
  char request[8192], reply[256];
  long size;
  while ((size = read(connection, request, sizeof request - 1)) > 0) {
    request[size] = 0;
    int sum = authenticate(request);
    if (strstr(request, "/health")) sum++;
    else if (sorts) sum += rank() % 100;
    else if (hashes) sum += digest(request) % 100;
    else count_visit();
    int length = snprintf(reply, sizeof reply, "HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n%010d\n", sum);
    if (write(connection, reply, length) < 0) break;
  }
  close(connection);
  return 0;
}

int main(int count, char **words) {
  hashes = !strcmp(words[1], "hash");
  sorts = !strcmp(words[1], "sort");
  int listener = socket(AF_INET, SOCK_STREAM, 0), one = 1;
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(atoi(words[count - 1])), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (bind(listener, (void *)&at, sizeof at) || listen(listener, 1024)) return 1;
  for (;;) {
    long connection = accept(listener, 0, 0);
    pthread_t thread;
    if (connection >= 0 && !pthread_create(&thread, 0, serve, (void *)connection)) pthread_detach(thread);
  }
}
