using System.Globalization;
using System.Net;
using System.Text.Json;
using System.Text;
using RedisClone.Server.Studio;
using RedisClone.Server.Tests.Clients;

namespace RedisClone.Server.Tests.Studio;

/// <summary>A client of the HTTP port that keeps its cookie as a browser does.</summary>
internal sealed class StudioBrowser(RunningServer server) : IDisposable
{
    private readonly HttpClient _http = new(new SocketsHttpHandler { UseCookies = false, AllowAutoRedirect = false })
    {
        BaseAddress = new Uri(string.Create(CultureInfo.InvariantCulture, $"http://127.0.0.1:{server.Core.Config.HttpPort}")),
    };

    /// <summary>Headers of every request. A header of a proxy makes the request one of another machine.</summary>
    public Dictionary<string, string> Headers { get; } = [];

    /// <summary>The cookie, with its name.</summary>
    public string? Cookie { get; set; }

    /// <summary>The attributes of the last cookie that was set.</summary>
    public string CookieAttributes { get; private set; } = "";

    public async Task<HttpResponseMessage> SendAsync(HttpMethod method, string path, HttpContent? content = null)
    {
        using var request = new HttpRequestMessage(method, path) { Content = content };
        foreach ((string name, string value) in Headers) request.Headers.TryAddWithoutValidation(name, value);
        if (Cookie is not null) request.Headers.Add("Cookie", Cookie);
        // The server refuses a large body before it is sent, and closes the connection.
        if (content is { Headers.ContentLength: >= StudioLimits.MostBodyBytes }) request.Headers.ExpectContinue = true;
        HttpResponseMessage response = await _http.SendAsync(request);
        if (response.Headers.TryGetValues("Set-Cookie", out IEnumerable<string>? cookies))
        {
            string[] parts = cookies.Single().Split(';', 2);
            Cookie = parts[0];
            CookieAttributes = parts[1];
        }
        return response;
    }

    public async Task<(HttpStatusCode Status, JsonElement Answer)> PostAsync(string call, string body)
    {
        using var content = new StringContent(body, Encoding.UTF8, "application/json");
        using HttpResponseMessage response = await SendAsync(HttpMethod.Post, "/studio/api/" + call, content);
        return (response.StatusCode, JsonDocument.Parse(await response.Content.ReadAsStringAsync()).RootElement);
    }

    public Task<(HttpStatusCode Status, JsonElement Answer)> SignInAsync(string user, string password) =>
        PostAsync("session", $$"""{"user":"{{user}}","password":"{{password}}"}""");

    /// <summary>Runs one command and returns the JSON of its reply.</summary>
    public async Task<string> RunAsync(string command, bool inConsole = false)
    {
        string words = string.Join(',', command.Split(' ').Select(word => $"\"{word}\""));
        (HttpStatusCode status, JsonElement answer) = await PostAsync("call", $$"""{"console":{{(inConsole ? "true" : "false")}},"commands":[[{{words}}]]}""");
        Assert.Equal(HttpStatusCode.OK, status);
        return answer[0].GetRawText();
    }

    public void Dispose() => _http.Dispose();
}
