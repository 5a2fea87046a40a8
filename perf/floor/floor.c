/* The least that a server does for a request: it waits, receives, and sends. Each received piece is answered as one request, with
   a value of 256 bytes for a GET, +PONG for a PING, and +OK for anything else. It keeps no data. Usage: floor PORT
   It needs a load without pipelining, and requests that arrive whole. */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

static char request[1 << 16], value[6 + 256 + 2];

static void answer(int client, ssize_t length)
{
	const char *reply = "+OK\r\n";
	size_t size = 5;
	if (length >= 11 && !memcmp(request + 4, "$3\r\nGET", 7)) {
		reply = value;
		size = sizeof value;
	} else if (length >= 12 && !memcmp(request + 4, "$4\r\nPING", 8)) {
		reply = "+PONG\r\n";
		size = 7;
	}
	if (send(client, reply, size, MSG_NOSIGNAL) < 0)
		close(client);
}

int main(int count, char **arguments)
{
	struct epoll_event events[128], event = { .events = EPOLLIN };
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int on = 1, listener = socket(AF_INET, SOCK_STREAM, 0), poll = epoll_create1(0);

	if (count != 2 || !(address.sin_port = htons(atoi(arguments[1])))) {
		puts("floor 1.0.0: answers each piece that it receives as one request. Usage: floor PORT");
		return count != 2;
	}
	memcpy(value, "$256\r\n", 6);
	memset(value + 6, 'x', 256);
	memcpy(value + 262, "\r\n", 2);
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	event.data.fd = listener;
	if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 1024) ||
	    epoll_ctl(poll, EPOLL_CTL_ADD, listener, &event)) {
		perror("floor");
		return 1;
	}
	for (;;) {
		int ready = epoll_wait(poll, events, 128, -1);
		for (int i = 0; i < ready; i++) {
			int client = events[i].data.fd;
			if (client == listener) {
				event.data.fd = accept(listener, NULL, NULL);
				setsockopt(event.data.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
				epoll_ctl(poll, EPOLL_CTL_ADD, event.data.fd, &event);
				continue;
			}
			ssize_t received = recv(client, request, sizeof request, 0);
			if (received <= 0)
				close(client);
			else
				answer(client, received);
		}
	}
}
