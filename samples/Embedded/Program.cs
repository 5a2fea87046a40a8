// A web application that hosts a server and counts its visits in it. This example writes the protocol itself. A real application
// would use a client library.
using RedisClone.Server.Embedding;

WebApplicationBuilder builder = WebApplication.CreateBuilder(args);
builder.Services.AddRedisClone(o =>
{
    o.Port = 0;
    builder.Configuration.GetSection("RedisClone").Bind(o);     // --RedisClone:Port 6379, or in appsettings.json
});
WebApplication app = builder.Build();
app.MapGet("/", async (RedisCloneServer server) =>
{
    await using Stream redis = server.ConnectStream();
    using var replies = new StreamReader(redis);
    await redis.WriteAsync("INCR visits\r\n"u8.ToArray());
    return $"visit {(await replies.ReadLineAsync())![1..]}";
});
await app.StartAsync();
app.Logger.LogInformation("redis-cli -p {Port} get visits", app.Services.GetRequiredService<RedisCloneServer>().Port);
await app.WaitForShutdownAsync();
