using Own = RedisClone.Configuration.TransportKind;

namespace RedisClone.Server.Tests;

/// <summary>The TransportKind of the server is internal, but the parameters of test methods need a public type.</summary>
public enum TransportKind { Auto = Own.Auto, EventLoop = Own.EventLoop, Sockets = Own.Sockets }
