using System.Globalization;
using System.Net.Http.Headers;
using System.Security.Authentication;
using System.Text;
using Microsoft.Extensions.Hosting;
using RedisClone.Admin.Otlp;
using RedisClone.Configuration;
using RedisClone.Engine;
using RedisClone.Journal.Disk;

namespace RedisClone.Server.Net;

/// <summary>
/// Sends the figures to an OpenTelemetry collector. The figures of one export are one reading of the server, made from the same rows
/// as INFO and the metrics page. A failure is logged once until an export succeeds again; the next export has all counters, so
/// nothing is sent twice.
/// </summary>
internal sealed class OtlpExporter(ServerCore server) : BackgroundService
{
    private const string MetricsPath = "/v1/metrics";
    private const int LongestHeadersFile = 64 * 1024;

    private string? _lastFailure;

    protected override async Task ExecuteAsync(CancellationToken stoppingToken)
    {
        TimeSpan interval = TimeSpan.FromSeconds(server.Config.OtlpInterval);
        using var http = new HttpClient(new SocketsHttpHandler { AllowAutoRedirect = false, UseCookies = false }) { Timeout = Limits.OtlpPatience };
        using var timer = new PeriodicTimer(interval);
        try
        {
            do
            {
                try
                {
                    string? failure = await SendAsync(http, stoppingToken);
                    if (failure is not null && _lastFailure is null)
                        server.Log.LogWarning("The figures could not be sent to otlp-endpoint: {Reason}", ConfigText.ToLine(failure));
                    else if (failure is null && _lastFailure is not null) server.Log.LogInformation("The figures are sent to otlp-endpoint again");
                    _lastFailure = failure;
                }
                catch (OutOfMemoryException failure)
                {
                    server.Failures.WorkFailed("The figures could not be sent to otlp-endpoint", failure);
                }
            }
            while (await timer.WaitForNextTickAsync(stoppingToken));
        }
        catch (OperationCanceledException) when (stoppingToken.IsCancellationRequested)
        {
            // The server ends.
        }
    }

    /// <summary>Returns null, or the reason of a failure.</summary>
    private async Task<string?> SendAsync(HttpClient http, CancellationToken stoppingToken)
    {
        try
        {
            using var request = new HttpRequestMessage(HttpMethod.Post, Endpoint(server.Config.OtlpEndpoint));
            using var content = new ByteArrayContent(OtlpMessage.Write(server));
            content.Headers.ContentType = new MediaTypeHeaderValue(OtlpMessage.ContentType);
            request.Content = content;
            if (server.Config.OtlpHeadersFile.Length > 0) AddHeaders(request, server.Config.PathOf(server.Config.OtlpHeadersFile));
            using HttpResponseMessage response = await http.SendAsync(request, HttpCompletionOption.ResponseHeadersRead, stoppingToken);
            return response.IsSuccessStatusCode ? null : string.Create(CultureInfo.InvariantCulture, $"it answers with the status {(int)response.StatusCode}");
        }
        catch (OperationCanceledException) when (!stoppingToken.IsCancellationRequested)
        {
            return string.Create(CultureInfo.InvariantCulture, $"no answer within {Limits.OtlpPatience.TotalSeconds} seconds");
        }
        catch (Exception failure) when (failure is HttpRequestException or IOException or UnauthorizedAccessException)
        {
            // The outer message of a failed handshake does not say why it failed.
            return failure.InnerException is AuthenticationException handshake ? handshake.Message : failure.Message;
        }
        catch (Exception bug) when (bug is not OperationCanceledException)
        {
            server.Failures.WorkFailed("The figures could not be exported", bug);
            return bug.GetType().Name;
        }
    }

    /// <summary>An address without a path is that of a collector; the path of its metrics is added.</summary>
    private static Uri Endpoint(string configured)
    {
        var url = new Uri(configured);
        return url.AbsolutePath == "/" ? new Uri(url, MetricsPath) : url;
    }

    private void AddHeaders(HttpRequestMessage request, string path)
    {
        byte[] content = server.Disk.ReadAll(path, LongestHeadersFile) ?? throw new IOException("otlp-headers-file is too long");
        foreach (string line in Encoding.UTF8.GetString(content).Split('\n', StringSplitOptions.TrimEntries))
        {
            if (line.Length == 0 || line[0] == '#') continue;
            string[] parts = line.Split(':', 2, StringSplitOptions.TrimEntries);
            if (parts.Length < 2 || !request.Headers.TryAddWithoutValidation(parts[0], parts[1]))
                throw new IOException("a line of otlp-headers-file is not of the form name: value");
        }
    }
}
