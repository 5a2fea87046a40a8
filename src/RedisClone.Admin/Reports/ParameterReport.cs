using System.Text.Json;
using RedisClone.Configuration;

namespace RedisClone.Admin.Reports;

/// <summary>Each parameter with its value, its default and its meaning. The values of secrets are hidden.</summary>
internal static class ParameterReport
{
    public static void Write(ServerConfig config, Utf8JsonWriter json)
    {
        json.WriteStartArray();
        foreach (ParameterGroup group in ConfigTable.Groups)
            foreach (Parameter parameter in group.Parameters)
            {
                bool isSecret = parameter.Has(ParameterFlags.Secret), isDefault = parameter.IsDefault(config);
                json.WriteStartObject();
                json.WriteString("group", group.Title);
                json.WriteString("name", parameter.Name);
                json.WriteString("value", isSecret ? isDefault ? "" : "(hidden)" : parameter.GetText(config));
                json.WriteString("standard", isSecret ? "" : parameter.DefaultText);
                json.WriteBoolean("differs", !isDefault);
                json.WriteBoolean("fixed", parameter.Has(ParameterFlags.Immutable));
                json.WriteBoolean("unused", parameter.Has(ParameterFlags.TunesNothing) || parameter.Has(ParameterFlags.Unsupported));
                json.WriteString("doc", parameter.Doc);
                json.WriteString("values", parameter.Values);
                json.WriteEndObject();
            }
        json.WriteEndArray();
    }
}
