using Own = RedisClone.Configuration.TransportKind;

namespace RedisClone.Server.Tests;

/// <summary>The server's own is internal, and the parameters of tests are of public types.</summary>
public enum TransportKind { Auto = Own.Auto, EventLoop = Own.EventLoop, Sockets = Own.Sockets }
