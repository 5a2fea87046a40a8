using System.Text.RegularExpressions;
using RedisClone.Admin.Prometheus;

namespace RedisClone.Server.Tests.Admin;

/// <summary>The alerts for Prometheus in docker/ use figures that the server exports, and link to paragraphs that exist.</summary>
public sealed partial class AlertTests
{
    private static readonly string s_root = Path.GetFullPath(Path.Combine(AppContext.BaseDirectory, "../../../../.."));

    [GeneratedRegex(@"- alert: (?<name>\w+)\s+expr: (?<expression>.+)\n(?<rest>(.+\n)+?)\s+runbook: (?<page>[\w/.-]+)#(?<anchor>[\w-]+)")]
    private static partial Regex Rule { get; }

    [GeneratedRegex(@"redis(clone)?_\w+")]
    private static partial Regex Name { get; }

    [Fact]
    public void EveryAlertUsesExportedFiguresAndHasItsParagraph()
    {
        string alerts = File.ReadAllText(Path.Combine(s_root, "docker/alerts.yaml"));
        Match[] rules = Rule.Matches(alerts).ToArray();
        Assert.Equal(12, rules.Length);
        Assert.Equal(rules.Length, Regex.Count(alerts, @"^\s+- alert:", RegexOptions.Multiline));
        HashSet<string> exported = [.. MetricsPage.Exports.Select(static export => export.Metric.Name)];
        var used = new HashSet<string>();
        foreach (Match rule in rules)
        {
            string[] names = [.. Name.Matches(rule.Groups["expression"].Value).Select(static name => name.Value)];
            Assert.NotEmpty(names);
            foreach (string name in names) Assert.True(exported.Contains(name), $"{rule.Groups["name"].Value} uses {name}, which is not exported");
            Assert.Contains("summary: ", rule.Groups["rest"].Value, StringComparison.Ordinal);
            Assert.True(used.Add(rule.Groups["name"].Value));
            string page = File.ReadAllText(Path.Combine(s_root, rule.Groups["page"].Value));
            IEnumerable<string> headings = page.Split('\n').Where(static line => line.StartsWith("## ", StringComparison.Ordinal));
            Assert.Contains(rule.Groups["anchor"].Value, headings.Select(Anchor));
        }
    }

    [Fact]
    public void EveryPictureOfTheOperationsExists()
    {
        string folder = Path.Combine(s_root, "docs");
        MatchCollection pictures = Regex.Matches(File.ReadAllText(Path.Combine(folder, "operations.md")), @"!\[[^\]]+\]\(([^)]+)\)");
        Assert.NotEmpty(pictures);
        foreach (Match picture in pictures) Assert.True(File.Exists(Path.Combine(folder, picture.Groups[1].Value)), picture.Value);
    }

    /// <summary>The anchor that a heading gets.</summary>
    private static string Anchor(string heading) => heading[3..].ToLowerInvariant().Replace(' ', '-');
}
