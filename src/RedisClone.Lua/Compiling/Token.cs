namespace RedisClone.Lua.Compiling;

/// <summary>
/// The kinds of tokens. A value below 256 is a single character. The reserved words in Lua's order and the other tokens
/// follow.
/// </summary>
internal enum Token
{
    And = 256,
    Break,
    Do,
    Else,
    ElseIf,
    End,
    False,
    For,
    Function,
    If,
    In,
    Local,
    Nil,
    Not,
    Or,
    Repeat,
    Return,
    Then,
    True,
    Until,
    While,
    Concat,
    Dots,
    Equal,
    GreaterEqual,
    LessEqual,
    NotEqual,
    Number,
    Name,
    String,
    Eof,
}

internal static class Tokens
{
    private static readonly string[] s_texts =
    [
        "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "if", "in", "local", "nil", "not", "or",
        "repeat", "return", "then", "true", "until", "while", "..", "...", "==", ">=", "<=", "~=", "<number>", "<name>",
        "<string>", "<eof>",
    ];

    private static readonly byte[][] s_reserved =
        [.. s_texts.Take(Token.While - Token.And + 1).Select(System.Text.Encoding.Latin1.GetBytes)];

    public static string Text(Token token)
    {
        if (token >= Token.And) return s_texts[token - Token.And];
        int c = (int)token;
        return c is < 32 or 127 ? $"char({c})" : ((char)c).ToString();
    }

    /// <summary>Returns the token of a reserved word, or <see cref="Token.Name"/>.</summary>
    public static Token Classify(ReadOnlySpan<byte> word)
    {
        if (word.Length is < 2 or > 8) return Token.Name;
        for (int i = 0; i < s_reserved.Length; i++)
        {
            if (word.SequenceEqual(s_reserved[i])) return Token.And + i;
        }
        return Token.Name;
    }
}
